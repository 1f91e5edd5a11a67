/** A call for each command that opens the store, a line each. FOLDER is that of the settings. */
export const callsOfTheStore: readonly string[] = `
policy diff
policy push --message first
policy history
policy rollback HASH --message back
policy show
policy checkout FOLDER/not-made
approvals list
approvals show r234567
approvals approve transfer:w-1 --source vault --key FOLDER/key
approvals reject r234567 --message no
list show
list add --create blocked somebody --source shop
list remove blocked somebody --source shop
orders expect payment o-1 --user 1 --symbol USDT1742 --amount 1
orders show payment o-1
orders cancel payment o-1
prices show
prices history
prices set BTC=1
prices remove BTC
freeze drill
unfreeze
limits show
lockout list
lockout lift LOCKOUT --message called
console invite ada --role read
console people
console remove ada
console sign-out ada
clock show
clock accept
simulate payment userId=1 amount=1 symbol=USDT1742
simulate transfer from=a to=b amount=1 symbol=ETH
simulate web3 from=a to=b symbol=ETH
decisions show shop/1-0
decisions search
decisions explain shop/1-0
decisions export
decisions release payment o-1 --message failed
journal archive --to FOLDER --older-than 90d
audit export --from 2d --to 1d --out FOLDER/not-made
reconcile --day 2026-03-02 --source vault --directory FOLDER
reconcile close 1 1 --directory FOLDER --message seen
`
  .trim()
  .replace('HASH', 'a'.repeat(64))
  .replace('LOCKOUT', 'a'.repeat(32))
  .split('\n');
