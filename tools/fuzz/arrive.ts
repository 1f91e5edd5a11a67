import type { Draft } from './draft.ts';
import type { Shot } from './generate.ts';
import { type CosignerParty, PAYMENT_PATH, cosigners } from './parties.ts';
import { type Random, anyOf } from './random.ts';

interface Body {
  readonly labels: readonly string[];
  readonly body: Uint8Array;
}

/**
 * The callback on its way: where to, and with what proofs; now and then where it does not belong, or without
 * them.
 */
export function arrived(random: Random, draft: Draft, { labels, body }: Body): Shot {
  const strayed = random.oneIn(60);
  if (draft.kind === 'payment' && !strayed) {
    return {
      labels,
      path: PAYMENT_PATH,
      headers: {},
      sent: {
        route: { callback: 'payment' },
        address: '127.0.0.1',
        header: () => undefined,
        pathSecret: undefined,
        body,
      },
    };
  }
  const party = draft.kind === 'payment' ? undefined : draft.party;
  return party === undefined || strayed
    ? astray(random, draft, { labels: [...labels, 'another path'], body })
    : cosignerShot(random, party, draft.kind === 'web3' ? 'web3' : 'withdraw', { labels, body });
}

/** On a URL that is not its own. */
function astray(random: Random, draft: Draft, body: Body): Shot {
  if (draft.kind !== 'payment' && random.oneIn(2)) {
    return {
      ...body,
      path: PAYMENT_PATH,
      headers: {},
      sent: {
        route: { callback: 'payment' },
        address: '127.0.0.1',
        header: () => undefined,
        pathSecret: undefined,
        body: body.body,
      },
    };
  }
  const party = draft.kind === 'payment' ? strangersParty(random) : draft.party;
  return cosignerShot(random, party, draft.kind === 'web3' ? 'withdraw' : 'web3', body);
}

function cosignerShot(
  random: Random,
  party: CosignerParty,
  at: 'withdraw' | 'web3',
  { labels, body }: Body,
): Shot {
  const shown = random.oneIn(25) ? unproven(random, party) : proven(party);
  const { headers, pathSecret, address } = shown;
  const path = party[at] ?? '/';
  const expected = [
    ...(path === party.withdraw ? (['transfer'] as const) : []),
    ...(path === party.web3 ? (['web3'] as const) : []),
  ];
  return {
    labels: shown.label === undefined ? labels : [...labels, shown.label],
    path: pathSecret === undefined ? path : `${path}/${pathSecret}`,
    headers,
    sent: {
      route: { callback: 'cosigner', source: party.name, expected },
      address,
      header: (name) => headers[name.toLowerCase()],
      pathSecret,
      body,
    },
  };
}

interface Shown {
  readonly label?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly pathSecret: string | undefined;
  readonly address: string;
}

function proven({ header, pathSecret, address }: CosignerParty): Shown {
  return {
    headers: header === undefined ? {} : { [header.name]: header.secret },
    pathSecret,
    address: address ?? '127.0.0.1',
  };
}

function unproven(random: Random, party: CosignerParty): Shown {
  const fine = proven(party);
  const secret = party.header?.secret ?? '';
  const name = party.header?.name ?? 'authorization';
  const value = random.pick([`Bearer ${secret}`, secret.slice(1), `${secret}x`, secret.toUpperCase(), 'x']);
  return {
    ...fine,
    label: 'proofs missing or wrong',
    ...random.pick<Partial<Shown>>([
      { headers: {} },
      { headers: { [name]: value } },
      { headers: { [name]: value } },
      party.pathSecret === undefined ? { headers: {} } : { pathSecret: `${party.pathSecret}x` },
      party.address === undefined
        ? { headers: {} }
        : { address: random.pick(['10.0.0.1', '::1', '127.0.0.2', '']) },
    ]),
  };
}

function strangersParty(random: Random): CosignerParty {
  const party = anyOf(random, cosigners);
  if (party === undefined) throw new Error('there is no co-signer: parties.ts must list one');
  return party;
}
