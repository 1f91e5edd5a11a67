import express from 'express';
import request from 'supertest';
import { expect, it } from 'vitest';
import { html } from '../../src/console/html.ts';
import { createConsole } from '../../src/http/console.ts';

it('a page is made in parts, and callbacks that come meanwhile have a turn between them', async () => {
  const done: string[] = [];
  const callbackComes = (): void => void setImmediate(() => done.push('callback'));
  const view = {
    title: 'A page',
    get content() {
      done.push('layout');
      return html`content`;
    },
  };
  const console = createConsole(
    {
      pages: [
        {
          path: '/page',
          show() {
            done.push('show');
            callbackComes();
            return Promise.resolve(view);
          },
        },
      ],
      acts: [],
      identify() {
        callbackComes();
        return Promise.resolve({ name: 'ada', roles: ['read'] });
      },
      frozen: () => Promise.resolve([]),
      during: (_, work) => work(),
    },
    () => undefined,
  );
  const { status, text } = await request(express().use('/console', console)).get('/console/page');
  expect(status).toBe(200);
  expect(text).toContain('content');
  expect(done).toEqual(['callback', 'show', 'callback', 'layout']);
});
