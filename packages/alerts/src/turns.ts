/** One account's error does not keep later ones from their turn. @returns the sum @throws the errors at the end */
export async function eachAccount<Account>(
  accounts: readonly Account[],
  work: (account: Account) => Promise<number>,
): Promise<number> {
  const errors: unknown[] = [];
  let sum = 0;
  for (const account of accounts) {
    try {
      sum += await work(account);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} of ${accounts.length} accounts failed`);
  if (errors.length === 1) throw errors[0];
  return sum;
}
