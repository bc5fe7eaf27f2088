"""Two looks in a run file: how they are taken, and what the first one asked to run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from repeat_eval.records.trial import PositiveInt

if TYPE_CHECKING:
    from repeat_eval.statistics.second_look import SecondLookSettings

Share = Annotated[float, msgspec.Meta(ge=0.0, le=0.5)]
Cut = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]


class TwoLooks(msgspec.Struct, frozen=True, kw_only=True):
    """How the looks of a run are taken; the same in the files of head and base.

    In the header `asked` of a case is what its first look asks for; repetitions beyond it are fresh trials.

    Attributes:
        first, fresh, rest: trials a side: of the first look (of cases without repeats of their own), of a suspect, and
            of the other cases after an alarm.
        cut, alarm, cap, both, mode: see `SecondLookSettings`; `cap` is None for the usual one. In the mode `alone`
            there is no base: cases below their threshold are run again, and only `first` and `fresh` mean something.
        trials: fresh trials a side by case, in the suite's order; not there before the first look has ended.
        alarm_off: why the alarm was switched off, a sentence; not there when it was not.
        base_stored: commit of the stored base behind the modes `screen` and `split`; not there side by side.
    """

    first: PositiveInt
    fresh: PositiveInt
    rest: PositiveInt
    cut: Cut
    alarm: Share
    cap: PositiveInt | None = None
    both: bool = False
    mode: Literal["side-by-side", "screen", "split", "alone"] = "side-by-side"
    trials: dict[str, PositiveInt] | UnsetType = UNSET
    alarm_off: str | UnsetType = UNSET
    base_stored: str | UnsetType = UNSET

    @classmethod
    def of(cls, settings: SecondLookSettings) -> TwoLooks:
        """The looks that these settings ask for, before anything has run."""
        return cls(
            first=settings.n1,
            fresh=settings.n2,
            rest=settings.n3,
            cut=settings.cut,
            alarm=settings.alarm,
            cap=settings.cap,
            both=settings.both,
            mode=settings.mode,
        )

    @classmethod
    def alone(cls, first: int, fresh: int) -> TwoLooks:
        """The looks of a run without a base: `first` trials of a case, `fresh` ones of those below their threshold."""
        return cls(first=first, fresh=fresh, rest=fresh, cut=0.5, alarm=0.0, mode="alone")

    @property
    def first_ended(self) -> bool:
        """Whether the first look is closed: what is to be run again is settled, and stays so."""
        return self.trials is not UNSET

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to be said about them, whoever reads the run file."""
        return () if isinstance(self.alarm_off, UnsetType) else (self.alarm_off,)

    @property
    def before(self) -> TwoLooks:
        """As they were set, before the first look ended."""
        return msgspec.structs.replace(self, trials=UNSET, alarm_off=UNSET)

    def fresh_trials(self, case: str) -> int:
        """Fresh trials that the first look asked for of a case; 0 for none."""
        return 0 if isinstance(self.trials, UnsetType) else self.trials.get(case, 0)

    def settings(self, alpha: float) -> SecondLookSettings:
        """The looks for the statistics; an alarm that was switched off is 0.

        Args:
            alpha: one-sided budget of the regression gate.

        Raises:
            ValueError: alpha is not between 0 and 1, or there is no base to compare with.
        """
        from repeat_eval.statistics.second_look import SecondLookSettings

        if self.mode == "alone":
            raise ValueError("looks without a base compare nothing")
        return SecondLookSettings(
            alpha=alpha,
            n1=self.first,
            n2=self.fresh,
            cut=self.cut,
            alarm=self.alarm if self.alarm_off is UNSET else 0.0,
            cap=self.cap,
            both=self.both,
            mode=self.mode,
        )
