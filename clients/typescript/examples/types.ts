// Compiled only: each line marked with `@ts-expect-error` must be an error.
import { createClient, decimal, type WebhookEvent } from '@wattledger/client'

const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'sk_test_0' })
const value = decimal('1')
const times = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-01T01:00:00Z' }

export const compiled = async (event: WebhookEvent): Promise<string> => {
  await client.marketPricePut({ path: { id: 'mrs_1' }, body: [{ ...times, value }] })
  // @ts-expect-error A number is not a decimal.
  await client.marketPricePut({ path: { id: 'mrs_1' }, body: [{ ...times, value: 0.1 }] })
  // @ts-expect-error A text is not a decimal.
  await client.marketPricePut({ path: { id: 'mrs_1' }, body: [{ ...times, value: '0.1' }] })
  // @ts-expect-error The path needs the id.
  await client.marketPricePut({ body: [{ ...times, value }] })
  const made: string = (await client.deviceCreate({ body: { reference_id: 'charger-1' } })).id
  const { errors } = await client.deviceCreate({ query: { dry_run: true }, body: { reference_id: made } })
  // @ts-expect-error A dry run creates no device.
  errors[0].id
  // @ts-expect-error The answer can be that of a dry run.
  ;(await client.deviceCreate({ query: { dry_run: errors.length > 0 }, body: { reference_id: made } })).id
  // @ts-expect-error The body can ask for a dry run too.
  ;(await client.planUpdate({ path: { id: made }, body: { dry_run: errors.length > 0 } })).id
  const { data, has_more: hasMore } = await client.customerList({ query: { limit: 10 } }).page()
  const isMore: boolean = hasMore
  for await (const { reference_id } of client.customerList()) return `${reference_id} ${isMore} ${data.length}`
  const limit: number = (await client.accountRetrieve()).limits.records_per_submission
  return event.type === 'price.update' ? (event.data.start_time ?? '') : String(limit)
}
