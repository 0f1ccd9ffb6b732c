import { expect, it } from 'vitest'
import { goldenText } from '../../support/golden.ts'
import { doneBatch, startBatch } from '../../support/statements/statement-batch.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

it('batches of statements are written as published', async () => {
  const client = await system.login()
  const homes = [await makeHome(client, { import: 0.1 }), await makeHome(client, { import: 0.1 })]
  // A day without records has gaps, so no statement becomes FINAL.
  const days = { start_date: '2025-06-02', end_date: '2025-06-03', finalise: true }
  const { id } = await startBatch(client, { object_ids: homes, ...days })
  await doneBatch(client, id)
  const answer = await client.send('GET', `/statements/batch/${id}`)
  const text = goldenText(answer.text).replace(/"time_finished": "[^"]+"/, '"time_finished": "…"')
  await expect(text).toMatchFileSnapshot('../../golden/current/statement_batch.json')
})
