import { onTestFinished } from 'vitest';
import { type SandboxProgram, startSandboxProgram } from './program.ts';
import { type TestSandbox, createClient, sharedCredentials } from './sandbox.ts';

export interface SandboxProcess extends SandboxProgram, Pick<TestSandbox, 'call' | 'post'> {
  readonly controlPort: string;
}

/** `countersign sandbox` as a process of its own, which ends with the test. */
export async function startSandboxProcess(...options: readonly string[]): Promise<SandboxProcess> {
  const folder = sharedCredentials();
  const sandbox = await startSandboxProgram(folder, options);
  onTestFinished(() => sandbox.kill());
  return {
    ...sandbox,
    ...createClient(sandbox.url, folder),
    controlPort: new URL(sandbox.controlUrl).port,
  };
}
