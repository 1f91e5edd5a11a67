import { z } from 'zod';
import { exceptionText, freezeText, lossesIn, onlyApprovedPass } from '../store/freezes.ts';
import type { Control, Freeze, Store } from '../store/store.ts';
import { columns, isoTime, printable } from '../values/text.ts';
import type { Act } from './act.ts';

type FreezeResult = Awaited<ReturnType<Store['freeze']>>;
/** What a freeze can except. */
export const EXCEPT = ['approved'] as const;
const freezeInput = z.strictObject({ reason: z.string(), except: z.enum(EXCEPT).optional() });

export const freeze: Act<{ readonly store: Pick<Store, 'freeze'> }, typeof freezeInput, FreezeResult> = {
  name: 'freeze',
  summary: 'Stop all approvals on all replicas immediately, or all except what people approve.',
  role: 'operate',
  input: freezeInput,
  perform: ({ store }, { reason, except }, by) =>
    store.freeze({ reason, by, kind: except === undefined ? 'operator' : 'except-approved' }),
  text({ freeze: { id, kind }, control }) {
    const others = control.frozen.filter((each) => each.id !== id);
    const until = `is answered FAILURE until \`countersign unfreeze ${id}\``;
    return [
      `Frozen as ${id}. Every callback${exceptionText({ kind }, ',')} ${until}. ${inForce(control)}`,
      ...(others.length === 0 ? [] : [`Also frozen:\n${freezesText(others)}`]),
    ].join('\n');
  },
  notice: ({ freeze: { id, kind } }) =>
    `Frozen as ${id}. Every callback${exceptionText({ kind }, ',')} is answered FAILURE until it is lifted.`,
  json: ({ freeze: added, control }) => ({ freeze: added, ...controlJson(control) }),
  followed: ({ control }) => control,
};

const unfreezeInput = z.strictObject({
  ids: z.array(z.string()).readonly(),
  acknowledgeLoss: z.boolean(),
  message: z.string(),
});
interface UnfreezeResult {
  readonly lifted: readonly Freeze[];
  readonly control: Control;
  /** The ids that were not in effect. */
  readonly missing: readonly string[];
}

export const unfreeze: Act<
  { readonly store: Pick<Store, 'unfreeze' | 'control'> },
  typeof unfreezeInput,
  UnfreezeResult
> = {
  name: 'unfreeze',
  summary: 'Lift freezes. Approvals continue once no freeze is left. Exits 1 while some are left.',
  role: 'operate',
  input: unfreezeInput,
  async perform({ store }, { ids, acknowledgeLoss, message: reason }, by) {
    const { frozen } = await store.control();
    const { lifted, control } = await store.unfreeze({ by, reason, ids, acknowledgeLoss });
    const inEffect = new Set([...frozen, ...control.frozen].map(({ id }) => id));
    return { lifted, control, missing: ids.filter((id) => !inEffect.has(id)) };
  },
  fourEyes: {
    name: 'unfreeze',
    async judge({ store }, { ids }) {
      const control = await store.control();
      const about = control.frozen.filter(({ id }) => ids.includes(id)).map(freezeText);
      if (about.length === 0) return { is: 'done', result: () => ({ lifted: [], control, missing: ids }) };
      return { is: 'looser', about };
    },
  },
  text: ({ lifted, control, missing }) =>
    [
      ...lifted.map(({ id, by, reason }) => `Lifted ${id} of ${printable(by)}: ${printable(reason)}`),
      ...missing.map((id) => `There is no freeze ${id}.`),
      control.frozen.length === 0 ? approvingAgain(control, lifted) : stillFrozen(control.frozen),
    ].join('\n'),
  notice({ lifted, control, missing }) {
    const others = namesOf(control.frozen);
    return [
      ...(lifted.length === 0 ? [] : [`Lifted ${namesOf(lifted)}.`]),
      ...missing.map((id) => `There is no freeze ${id}.`),
      others === '' ? 'Approvals continue.' : `Still frozen by ${others}.`,
    ].join(' ');
  },
  json: ({ lifted, control, missing }) => ({
    approving: control.frozen.length === 0,
    lifted,
    missing,
    ...controlJson(control),
  }),
  isDone: ({ control }) => control.frozen.length === 0,
  followed: ({ control }) => control,
};

const namesOf = (freezes: readonly Freeze[]): string => freezes.map(({ id }) => id).join(', ');

const controlJson = ({ sequence, revision, frozen, prices }: Control): Omit<Control, 'lifted'> => ({
  sequence,
  revision,
  frozen,
  prices,
});

function approvingAgain(control: Control, lifted: readonly Freeze[]): string {
  const loss =
    lossesIn(lifted).length > 0
      ? ' Data was lost. Repeats and limits begin with the data that the store still has.'
      : '';
  return `Approvals continue. ${inForce(control)}${loss}`;
}

function stillFrozen(frozen: readonly Freeze[]): string {
  const loss =
    lossesIn(frozen).length > 0
      ? '\nData was lost. Do what the freeze says, then run `countersign unfreeze --acknowledge-loss`.'
      : '';
  const exception = onlyApprovedPass(frozen) ? exceptionText({ kind: 'except-approved' }, ',') : '';
  return `Still frozen. Every callback${exception} is answered FAILURE:\n${freezesText(frozen)}${loss}`;
}

/** A line for each freeze. */
export function freezesText(freezes: readonly Freeze[]): string {
  return columns(
    freezes.map(({ id, kind, atMs, by, reason }) => [
      `  ${id}`,
      `since ${isoTime(atMs)} by ${printable(by)}${exceptionText({ kind })}: ${printable(reason)}`,
    ]),
  );
}

function inForce({ revision }: Control): string {
  return revision === '' ? 'No policies are in force.' : `In force: ${revision.slice(0, 12)}.`;
}
