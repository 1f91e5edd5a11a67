import { describe, expect, it } from 'vitest';
import { operations } from '../operations/registry.ts';
import { fieldsIn, fieldsOf } from './fields.ts';
import { fixtures } from './fixtures.ts';
import { SECTION_2 } from './section-2.ts';

it('section 2 is written down for each operation, and for no other', () => {
  expect(Object.keys(SECTION_2).toSorted()).toEqual(operations.map(({ name }) => name).toSorted());
});

describe.each(operations)('$section $name', ({ name, command, data }) => {
  it('reads every field of section 2, and no other', () => {
    expect(fieldsOf(data)).toEqual((SECTION_2[name] ?? []).toSorted());
  });

  const fixture = fixtures.find((each) => each.command === command);
  const hasFields = (SECTION_2[name] ?? []).length > 0;

  it('has a fixture whose answer has a value in every field, and in no other', () => {
    const found = hasFields ? fieldsIn(JSON.parse(fixture?.data ?? '')) : [];
    expect(found).toEqual(fieldsOf(data));
  });

  it('has a fixture whose reading has a value in every field, and in no other', () => {
    expect(hasFields ? fieldsIn(fixture?.read) : []).toEqual(fieldsOf(data));
  });
});
