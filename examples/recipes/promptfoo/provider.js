// The system under test, in place of a model: it answers questions and is not always right.
const { createHash } = require('node:crypto');

const QUALITY = 0.95;
const CAPITALS = {
  Brazil: 'Brasilia', Canada: 'Ottawa', Egypt: 'Cairo', France: 'Paris',
  Japan: 'Tokyo', Kenya: 'Nairobi', Norway: 'Oslo', Spain: 'Madrid',
};
const asked = new Map();

module.exports = class {
  id() { return 'capitals'; }

  // Each call draws anew; the run's seed makes the draws the same again.
  async callApi(prompt) {
    const country = Object.keys(CAPITALS).find((name) => prompt.includes(name));
    asked.set(country, (asked.get(country) || 0) + 1);
    const draw = createHash('sha256').update(`${process.env.REPEAT_EVAL_TRIAL_SEED} ${country} ${asked.get(country)}`);
    return { output: draw.digest().readUInt32BE(0) / 2 ** 32 < QUALITY ? CAPITALS[country] : 'I am not sure' };
  }
};
