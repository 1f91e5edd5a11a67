import { expect, it } from 'vitest';
import { callOf } from '../../src/cli/serve.ts';

it.each([
  [1, 'docker exec 3f2a91c04b7d countersign', {}],
  [1, 'podman exec 3f2a91c04b7d countersign', { container: 'podman' }],
  [1, 'docker exec 3f2a91c04b7d countersign', { container: 'oci' }],
  [4711, 'npx countersign', {}],
  [4711, 'npx countersign', { container: 'podman' }],
])('process %s names a command for a second shell: %s', (pid, call, env) => {
  expect(callOf(pid, '3f2a91c04b7d', env)).toBe(call);
});
