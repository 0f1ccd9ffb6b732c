import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { comparePlays } from '../../support/history/compare-plays.ts'
import { histories } from '../../support/history/generate-history.ts'
import type { PlayContext } from '../../support/history/play.ts'
import { createDevices } from '../../support/history/register-rules.ts'
import { describeHistory } from '../../support/history/stored-state.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'

/** Nearly all work is slow work, and rows are recosted a few at a time. */
const load = { maxPieces: 2, minPiecesPerRecord: 0 }
const count = Number(process.env['HISTORIES'] ?? 2)
const seed = Number(process.env['HISTORY_SEED'] ?? 11)
const timeout = 600_000

let fixture: PartitionFixture
let stage: PlayContext

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start(undefined, { load })
  stage = { client: fixture.client, ...fixture.tenant, deviceIds: await createDevices(fixture.client) }
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

describe('slow work', () => {
  it.each(fc.sample(histories, { seed, numRuns: count }))(
    'costs the same for any order and division of the submissions: history %#',
    { timeout },
    async history => {
      const { faults } = await comparePlays(stage, history, 20_000, () => fixture.waitUntilRead(480_000))
      expect(faults, describeHistory(history)).toEqual([])
    },
  )
})
