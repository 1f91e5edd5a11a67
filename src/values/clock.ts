/** Milliseconds since the epoch. Whoever needs the time is given one of these, so that tests can set it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
