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
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly (HealthState & { readonly name: string })[];
}

export interface Health {
  readiness(): Promise<Readiness>;
}

/** Ready is a service of which all checks hold; one that has no checks is not. Checks run at once, each at most `timeoutMs`. */
export function createHealth({
  checks,
  timeoutMs = 1000,
}: {
  readonly checks: readonly HealthCheck[];
  readonly timeoutMs?: number;
}): Health {
  const look = async ({ name, check }: HealthCheck): Promise<HealthState & { readonly name: string }> => {
    try {
      const { ok, because } = await within(timeoutMs, (async () => check())());
      return { name, ok, because };
    } catch (thrown) {
      return { name, ok: false, because: messageOf(thrown) };
    }
  };
  return {
    async readiness() {
      const states = await Promise.all(checks.map(look));
      return { ready: states.length > 0 && states.every(({ ok }) => ok), checks: states };
    },
  };
}
