import { describe } from 'vitest';
import { redisForInspection } from './inspected-stores.ts';
import { testManyPreviews } from './many-previews.ts';

describe('in tens of thousands of random states, a preview is what a settle then does, and writes nothing', () => {
  const open = redisForInspection();
  testManyPreviews('redis', () => open);
});
