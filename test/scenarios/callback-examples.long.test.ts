import { afterAll, beforeAll, describe } from 'vitest';
import type { TestService } from '../service.ts';
import { describeExamples, startDemoService } from './callback-examples.ts';

/* Go and the JDK are large: `npm run test:long` installs them. */
describe('the examples of docs/callbacks.md that are compiled', () => {
  let service: TestService | undefined;
  beforeAll(async () => {
    service = await startDemoService();
  });
  afterAll(() => service?.stop());

  describeExamples(['go', 'java'], () => service);
});
