import { type Kind, KINDS } from '../../callback/callback.ts';
import { callbackKinds } from '../../callback/kinds.ts';
import type { LiveSimulation } from '../../simulation/simulate-live.ts';
import type { Simulate } from '../../simulation/simulator.ts';
import { choiceField, hiddenFields, oneOf, textField, written } from '../fields.ts';
import { type Html, html, link, verbatim } from '../html.ts';
import { entryLink, fault, proseOf, verdictPill } from '../layout.ts';
import { idMember, kindChoices, memberWord } from '../member-words.ts';
import { type Pages, type Person, type View, authorOf, orAgain } from '../page.ts';
import { movementsTable, rulesTable } from './decision.ts';

export interface TryParts {
  readonly simulate: Simulate;
  readonly sources: readonly {
    readonly name: string;
    readonly kinds: readonly Kind[];
    readonly schemes: readonly string[];
  }[];
}

/** The members that the form asks for, by kind. */
const MEMBERS: Readonly<Record<Kind, readonly string[]>> = {
  payment: ['userId', 'amount', 'symbol', 'appOrderId'],
  transfer: ['from', 'to', 'amount', 'symbol', 'memo', 'request_id'],
  web3: ['from', 'to', 'amount', 'symbol', 'interactive_contract', 'input_data', 'request_id'],
};

function labelOf(kind: Kind, name: string): string {
  const word = memberWord(kind, name);
  return name === idMember(kind) ? `${word} (may be left out)` : word;
}

/** What a callback would be answered now. The form is a POST, because a body may be longer than a link. */
export function tryPages(parts: TryParts): Pages {
  return {
    pages: [{ path: '/try', navigation: 'Try', show: ({ query, person }) => show(parts, query, person) }],
    forms: [{ path: '/try', role: 'read', submit: ({ form, person }) => show(parts, form, person) }],
  };
}

async function show({ simulate, sources }: TryParts, query: URLSearchParams, person: Person): Promise<View> {
  const kind =
    oneOf(query, 'kind', KINDS) ??
    KINDS.find((each) => sources.some(({ kinds }) => kinds.includes(each))) ??
    'payment';
  const fitting = sources.filter(({ kinds }) => kinds.includes(kind));
  const body = written(query, 'body') ?? '';
  const members = Object.fromEntries(
    MEMBERS[kind].flatMap((name) => {
      const value = written(query, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const isAsked = body !== '' || Object.keys(members).length > 0;
  const form = html`${kindChoices(link`/try`, kind)}${tryForm(kind, fitting, query)}`;
  if (!isAsked)
    return {
      title: 'Try',
      content: html`<p>
          See what a callback would be answered now. Nothing is reserved, and nothing is journalled.
        </p>
        ${form}`,
    };
  const names = fitting.map(({ name }) => name);
  const source = oneOf(query, 'source', names) ?? names[0] ?? '';
  const asked = { kind, source, scheme: written(query, 'scheme'), body, members };
  const answer = async (): Promise<View> => {
    const simulated = await simulate(asked, authorOf(person));
    return {
      title: 'Try',
      content: html`${resultCard(source, simulated)}${rulesTable(simulated.rules)}${movementsTable(simulated.movements)}${form}`,
    };
  };
  return orAgain(answer, (because) => ({
    title: 'Try',
    content: html`${fault(withLabel(kind, because))}${form}`,
  }));
}

/** A sentence names members as callbacks do. The form has other words for them, so both are there. */
function withLabel(kind: Kind, sentence: string): string {
  const { aliases } = callbackKinds[kind];
  const known = new Map([
    ...MEMBERS[kind].map((name) => [name, name] as const),
    ...Object.entries(aliases).map(([wire, name]) => [wire, name] as const),
  ]);
  return sentence.replace(/: (\w+) (?=is |has |can)/, (whole, name: string) => {
    const member = known.get(name);
    const isNamed = member !== undefined && MEMBERS[kind].includes(member);
    return isNamed ? `: ${memberWord(kind, member)} (${name}) ` : whole;
  });
}

function tryForm(kind: Kind, fitting: TryParts['sources'], query: URLSearchParams): Html {
  const schemes = [...new Set(fitting.flatMap((source) => source.schemes))];
  return html`<form class="card" method="post" action="${link`/try`}">
    ${hiddenFields({ kind })}
    <div class="fields">
      ${choiceField(
        'Source',
        'source',
        written(query, 'source'),
        fitting.map(({ name }) => name),
        'the first',
      )}
      ${schemes.length > 0 && choiceField('Scheme', 'scheme', written(query, 'scheme'), schemes, 'the first')}
      ${MEMBERS[kind].map((name) => textField(labelOf(kind, name), name, written(query, name)))}
      <label class="wide"
        >Body of a callback, without an envelope. The fields above replace its members.
        <textarea name="body" rows="4" spellcheck="false">${verbatim(query.get('body') ?? '')}</textarea>
      </label>
    </div>
    <div class="actions"><button>What would it be answered?</button></div>
  </form>`;
}

function resultCard(source: string, { verdict, code, because, next, of, revision }: LiveSimulation): Html {
  return html`<section class="card" role="status">
    <h2>${verdictPill(verdict)} ${code}</h2>
    <p class="because">${proseOf(because)}</p>
    ${next !== undefined && html`<p class="muted">After that, ${next.policy}/${next.rule} would refuse: ${proseOf(next.because)}</p>`}
    ${of !== '' && html`<p>It would repeat the decision ${entryLink(source, of)}.</p>`}
    ${revision !== '' && html`<p class="muted">Under revision <span class="mono">${revision}</span></p>`}
  </section>`;
}
