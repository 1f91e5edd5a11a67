/*
 * What must move in the browser. Pages read without it. It is served as it stands here, and its types are checked
 * by TypeScript. It stays below 10 KB, and makes no request to another origin.
 */

// On a narrow screen, the navigation scrolls: the entry of this page is in sight.
document.querySelector('nav [aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

// A form with `data-submit-on-change` is sent when one of its fields changes.
for (const form of document.querySelectorAll('form[data-submit-on-change]')) {
  if (form instanceof HTMLFormElement) form.addEventListener('change', () => form.requestSubmit());
}

// A field with `data-file-into="ID"` reads a chosen file into the text area with that id. With
// `data-file-name-into="ID"`, it writes the name of the file into the field with that id.
for (const input of document.querySelectorAll('input[type=file][data-file-into]')) {
  if (!(input instanceof HTMLInputElement)) continue;
  // Without this script, a chosen file would not be sent.
  input.closest('label')?.removeAttribute('hidden');
  input.addEventListener('change', () => {
    const [file] = input.files ?? [];
    const target = document.getElementById(input.dataset['fileInto'] ?? '');
    if (file === undefined || !(target instanceof HTMLTextAreaElement)) return;
    void file.text().then((text) => (target.value = text));
    const name = document.getElementById(input.dataset['fileNameInto'] ?? '');
    if (name instanceof HTMLInputElement) name.value = file.name;
  });
}

// A button with `data-passkey` asks for a passkey: it fetches the options, and sends the answer.
for (const button of document.querySelectorAll('button[data-passkey]')) {
  if (button instanceof HTMLButtonElement) button.addEventListener('click', () => void usePasskey(button));
}

// A form with `data-sign` sends what a passkey signs: its options are there, and the answer goes into `signature`.
for (const form of document.querySelectorAll('form[data-sign]')) {
  if (!(form instanceof HTMLFormElement)) continue;
  // Without this script, it would send no signature.
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (event.submitter instanceof HTMLButtonElement) void sign(form, event.submitter);
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 */
function sign(form, button) {
  return orSay(button, async () => {
    const options = JSON.parse(form.dataset['sign'] ?? '');
    const credential = await navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
    });
    const field = form.elements.namedItem('signature');
    if (!(credential instanceof PublicKeyCredential) || !(field instanceof HTMLInputElement)) {
      throw new Error('The browser gave no passkey.');
    }
    field.value = JSON.stringify(credential.toJSON());
    form.submit();
  });
}

/** @param {HTMLButtonElement} button */
function usePasskey(button) {
  return orSay(button, async () => {
    const options = await post(button.dataset['options'] ?? '', {});
    const credential =
      button.dataset['passkey'] === 'create'
        ? await navigator.credentials.create({
            publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
          })
        : await navigator.credentials.get({
            publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          });
    if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser gave no passkey.');
    const { to } = await post(button.dataset['answer'] ?? '', credential.toJSON());
    location.assign(button.dataset['to'] ?? to);
  });
}

/**
 * Says beside the button why its work failed.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<void>} work
 */
async function orSay(button, work) {
  const fault = button.closest('section')?.querySelector('[role=alert]');
  button.disabled = true;
  try {
    await work();
  } catch (thrown) {
    button.disabled = false;
    if (!(fault instanceof HTMLElement)) return;
    fault.hidden = false;
    fault.textContent = thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/**
 * @param {string} path
 * @param {unknown} body
 */
async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}
