import { expect, it } from 'vitest'
import { goldenText } from '../../support/golden.ts'
import { postStatement } from '../../support/statements/statement-answer.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

it('statements are written as published', async () => {
  const client = await system.login()
  const home = await makeHome(client, { import: 0.1234, export: 0.05 })
  const [start, end] = ['2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z']
  const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' }
  const own = { tariff_direction: 'LOCAL' }
  await client.submit([
    bought(home, 1.5, start, end),
    bought(home, 0.4, start, end, sold),
    bought(home, 0.7, start, end, own),
  ])
  const body = { start_date: '2025-06-02', end_date: '2025-06-03', detail: 'PRICE' }
  const answer = await client.send('POST', `/statements/${home}`, body)
  const expected = (name: string) => `../../golden/current/${name}.json`
  const textOf = ({ text }: { readonly text: string }): string => goldenText(text).replace(/[0-9a-f]{64}/, '…')
  await expect(textOf(answer)).toMatchFileSnapshot(expected('statement'))
  const { id } = await postStatement(client, home, { ...body, detail: null, expect: 'NOTHING' })
  const final = await client.send('POST', `/statements/${id}/finalise`)
  await expect(textOf(final)).toMatchFileSnapshot(expected('statement_final'))
  const event = await client.send('GET', `/events?object_id=${id}`)
  await expect(textOf(event)).toMatchFileSnapshot(expected('event_of_statement'))
})
