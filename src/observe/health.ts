import { messageOf } from '../errors.ts';
import { within } from './within.ts';

/** What one look at one thing came to: whether it is in order, and why it is not. */
export interface HealthState {
  readonly ok: boolean;
  readonly because: string;
}

export interface HealthCheck {
  readonly name: string;
  /** Throwing, rejecting and taking too long are all "not in order". */
  readonly check: () => HealthState | Promise<HealthState>;
  /** False for what an operator should know and a load balancer must not act on. */
  readonly decisive?: false;
}

interface CheckedState extends HealthState {
  readonly name: string;
  readonly decisive?: false;
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly CheckedState[];
}

export interface Health {
  readiness(): Promise<Readiness>;
}

/**
 * Ready is a service of which all decisive checks hold; one that has none is not. Checks run at once, each at
 * most `timeoutMs`.
 */
export function createHealth({
  checks,
  timeoutMs = 1000,
}: {
  readonly checks: readonly HealthCheck[];
  readonly timeoutMs?: number;
}): Health {
  const look = async ({ name, check, decisive }: HealthCheck): Promise<CheckedState> => {
    const known = decisive === undefined ? { name } : { name, decisive };
    try {
      const { ok, because } = await within(timeoutMs, (async () => check())());
      return { ...known, ok, because };
    } catch (thrown) {
      return { ...known, ok: false, because: messageOf(thrown) };
    }
  };
  return {
    async readiness() {
      const states = await Promise.all(checks.map(look));
      const decisive = states.filter((state) => state.decisive === undefined);
      return { ready: decisive.length > 0 && decisive.every(({ ok }) => ok), checks: states };
    },
  };
}
