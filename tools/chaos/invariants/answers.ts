import { type Invariant, findings, overlaps, describe } from '../case.ts';

/** Whatever happens, a callback path says SUCCESS or FAILURE. */
export const twoAnswers: Invariant = {
  name: 'an answer is SUCCESS or FAILURE',
  check: ({ exchanges }) =>
    findings(
      exchanges.filter(({ answer }) => answer !== undefined),
      (each) => (each.answer === 'SUCCESS' || each.answer === 'FAILURE' ? undefined : describe(each)),
    ),
};

/** A process that is killed or stopped can't answer; any other does. */
export const noBrokenConnection: Invariant = {
  name: 'no connection breaks while its receiver is up',
  check: ({ exchanges, outages }) =>
    findings(exchanges, (each) => {
      if (each.answer !== undefined) return undefined;
      const excused = outages.some((outage) => outage.receiver === each.receiver && overlaps(outage, each));
      return excused ? undefined : describe(each);
    }),
};

export const inTime: Invariant = {
  name: 'an answer comes in time',
  check({ exchanges, outages, answerTimeoutMs, marginMs }) {
    const looked = exchanges.filter(
      (each) => !outages.some((outage) => outage.receiver === each.receiver && overlaps(outage, each)),
    );
    const bound = answerTimeoutMs + marginMs;
    return findings(looked, (each) =>
      each.tookMs <= bound
        ? undefined
        : `${describe(each)}, took ${Math.round(each.tookMs)} ms of at most ${bound}`,
    );
  },
};
