import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { ASSETS_FILE, type Asset, assetCure, compileAssets } from '../../policy/assets.ts';
import { type Problem, formatFault, formatPath } from '../../policy/fault.ts';
import { type Tree, plainOf, positionOf, readYaml } from '../../policy/yaml.ts';
import type { Call } from '../command.ts';
import type { Session } from '../session.ts';

/**
 * The asset that `--asset` names, from the asset table beside the policies; undefined without it. Throws
 * USAGE, with the cure.
 */
export function assetOf(session: Session, call: Call): Asset | undefined {
  const symbol = call.option('asset');
  if (symbol === undefined) return undefined;
  const path = join(session.settings().policies.directory, ASSETS_FILE);
  const { trees, faults } = readYaml(textOf(path));
  const [tree, second] = trees;
  const problems: Problem[] = [];
  const assets = tree === undefined ? new Map<string, Asset>() : compileAssets(plainOf(tree), problems);
  const said = [
    ...faults.map(({ at, message, cure }) => formatFault({ file: path, ...at, path: '', message, cure })),
    ...(tree === undefined && faults.length === 0
      ? [`${path} is empty; write \`assets:\` and below it a symbol a line`]
      : []),
    ...(tree === undefined ? [] : problems.map((problem) => formatProblem(path, tree, problem))),
    ...(second === undefined ? [] : [`${path} holds more than one table; join them into one`]),
  ];
  if (said.length > 0) throw new CountersignError('USAGE', `the asset table has faults:\n${said.join('\n')}`);
  const asset = assets.get(symbol);
  if (asset !== undefined) return asset;
  throw new CountersignError('USAGE', `${path} does not have ${symbol}; ${assetCure(symbol, assets)}`);
}

function formatProblem(file: string, tree: Tree, { path, of, message, cure }: Problem): string {
  return formatFault({ file, ...positionOf(tree, path, of), path: formatPath(path), message, cure });
}

function textOf(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `--asset needs the asset table, and ${path} can't be read: ${messageOf(thrown)}; write one, or leave --asset out`,
    );
  }
}
