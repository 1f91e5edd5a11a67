import { addressIdentity } from '../values/address.ts';
import { toComparable } from '../values/comparable.ts';
import { canonicalUserId } from '../values/user-id.ts';
import { type Member, type Members, OUTPUT_BOUNDS, membersJson, readObjects } from '../values/members.ts';

/** Maps the sources, ids and addresses of a record to those of the instance that receives the callbacks. */
export interface Mapping {
  readonly source: (recorded: string) => string;
  /** Returns the same object if no member changes. */
  readonly members: (recorded: Members) => Members;
}

export interface MappingOptions {
  /**
   * For each member of the callback, the new text by the old text. Addresses match in any spelling. The table
   * `source` maps sources.
   */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** A prefix for every appOrderId and request_id, which makes all subjects new. */
  readonly prefix: string;
}

/**
 * Members that a mapping may change. Amounts are not among them, because limits would then decide otherwise.
 */
export const MAPPED_MEMBERS: ReadonlySet<string> = new Set([
  'appOrderId',
  'userId',
  'payCoinSymbol',
  'request_id',
  'transfer_id',
  'withdraw_id',
  'trans_id',
  'from',
  'to',
  'memo',
  'symbol',
  'main_chain_symbol',
  'interactive_contract',
  'input_data',
  'txid',
]);
export const MAPPED_SOURCES = 'source';

const ADDRESSES: ReadonlySet<string> = new Set(['from', 'to', 'interactive_contract']);
const IDS: ReadonlySet<string> = new Set(['appOrderId', 'request_id']);
const INTEGER = /^(?:0|[1-9]\d*)$/;

/** The text by which the recorded members are compared with the table. */
function identityOf(name: string, text: string): string {
  if (ADDRESSES.has(name)) return addressIdentity(text);
  return name === 'userId' ? canonicalUserId(text) : toComparable(text);
}

export function createMapping({ tables, prefix }: MappingOptions): Mapping {
  const comparing = new Map(
    Array.from(tables, ([name, table]) => [
      name,
      new Map(Array.from(table, ([old, text]) => [identityOf(name, old), text])),
    ]),
  );
  const mapValue = (name: string, text: string): string =>
    comparing.get(name)?.get(identityOf(name, text)) ?? text;
  const mapText = (name: string, text: string): string =>
    IDS.has(name) && text !== '' ? prefix + mapValue(name, text) : mapValue(name, text);

  return {
    source: (recorded) => tables.get(MAPPED_SOURCES)?.get(recorded) ?? recorded,
    members(recorded) {
      let same = true;
      const members = Array.from(recorded, ([name, member]): [string, Member] => {
        const plain = member.kind === 'string' || member.kind === 'number';
        const text =
          name === 'outputs' && plain
            ? outputs(member.text, (address) => mapValue('to', address))
            : plain
              ? mapText(name, member.text)
              : member.text;
        if (text === member.text) return [name, member];
        same = false;
        return [name, { kind: member.kind === 'number' && INTEGER.test(text) ? 'number' : 'string', text }];
      });
      return same ? recorded : new Map(members);
    },
  };
}

/**
 * The outputs are JSON in a text. Outputs that can't be read stay unchanged, and the receiver refuses them.
 */
function outputs(text: string, address: (recorded: string) => string): string {
  const read = readObjects(text, OUTPUT_BOUNDS);
  if (!read.ok) return text;
  let same = true;
  const written = read.objects.map((output) => {
    const to = output.get('address_to');
    if (to?.kind !== 'string' || address(to.text) === to.text) return membersJson(output);
    same = false;
    return membersJson(new Map(output).set('address_to', { kind: 'string', text: address(to.text) }));
  });
  return same ? text : `[${written.join(',')}]`;
}
