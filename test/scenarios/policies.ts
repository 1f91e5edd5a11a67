/** Payments of one user up to a sum within a day, whatever each amounts to. */
export const upTo = (max: number): Readonly<Record<string, string>> => ({
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: ${max} }
`,
});
