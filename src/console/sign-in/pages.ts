import { html, link } from '../html.ts';
import type { Person, View } from '../page.ts';
import type { Invitation } from './invitations.ts';

/**
 * What somebody sees who has not signed in. `origin` is where passkeys are used; without it, there are none. `to` is
 * the page that was asked for, below `/console`.
 */
export const signInPage = (origin: string | undefined, to?: string): View => ({
  title: 'Sign in',
  content:
    origin === undefined
      ? html`<section class="card narrow">
          <p>
            The single sign-on in front of this console did not name you, or the settings do not list you.
          </p>
          <p class="hint">Ask an operator to add your name to <code>console.proxy.people</code></p>
        </section>`
      : html`<section class="card narrow">
          <p>Use the passkey that you made when you were invited. It works only at ${origin}/console/</p>
          <div class="actions">
            <button
              data-passkey="get"
              data-options="${link`/sign-in/options`}"
              data-answer="${link`/sign-in`}"
              ${to !== undefined && html` data-to="${to}"`}
            >
              Sign in with a passkey
            </button>
          </div>
          <p class="fault" role="alert" hidden></p>
          <noscript
            ><p class="warn">
              Signing in needs JavaScript, because passkeys do. Everything else reads without it.
            </p></noscript
          >
          <p class="hint">
            No passkey yet? Ask an operator to run
            <code>countersign console invite YOUR-NAME --role read</code>
          </p>
        </section>`,
});

/** What somebody sees who has signed in, but has no role. */
export const noRolesPage = ({ name }: Person, hasPasskeys: boolean): View => ({
  title: 'You have no role',
  content: html`<section class="card narrow">
    <p>You are ${name}, but have no role in this console. So you can neither see nor do anything here.</p>
    <p class="hint">
      ${
        hasPasskeys
          ? html`Ask an operator to run <code>countersign console invite ${name} --role read</code>`
          : html`Ask an operator to give you a role in <code>console.proxy.people</code>`
      }
    </p>
  </section>`,
});

export const invitationPage = ({ name, roles }: Invitation, token: string): View => ({
  title: `Welcome, ${name}`,
  content: html`<section class="card narrow">
    <p>
      Make a passkey for this console. Your device keeps it, and asks for your fingerprint, your face or your
      PIN when you use it.
    </p>
    ${roles.length > 0 && html`<p>You may: ${roles.join(', ')}.</p>`}
    <div class="actions">
      <button
        data-passkey="create"
        data-options="${link`/invite/${token}/options`}"
        data-answer="${link`/invite/${token}`}"
      >
        Make a passkey
      </button>
    </div>
    <p class="fault" role="alert" hidden></p>
    <noscript><p class="warn">This needs JavaScript, because passkeys do.</p></noscript>
  </section>`,
});

export const NO_INVITATION: View = {
  title: 'The invitation is over',
  status: 404,
  content: html`<section class="card narrow">
    <p>It was used, or its time is over. An invitation can be used once.</p>
    <p class="hint">Ask for another one: <code>countersign console invite YOUR-NAME</code></p>
  </section>`,
};

export const SIGNED_OUT: View = {
  title: 'Signed out',
  content: html`<section class="card narrow">
    <p>Your session has ended.</p>
    <p><a href="${link`/`}">Sign in again</a></p>
  </section>`,
};
