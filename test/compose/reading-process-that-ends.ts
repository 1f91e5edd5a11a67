/** Ends when it is asked for the history, and answers everything else with the method's name. */
process.once('disconnect', () => process.exit(0));
process.once('message', () => {
  process.on('message', ({ id, method }: { readonly id: number; readonly method: string }) => {
    if (method === 'history') process.exit(3);
    if (method !== 'control') process.send?.({ id, ok: true, value: method });
  });
});
