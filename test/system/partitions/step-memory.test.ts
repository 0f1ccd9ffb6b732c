import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Codec } from '../../../services/platform/log/avro/codec.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Collect weak references to the chunks that a codec reads. The records of a step refer to them. */
const watchChunks = (codec: Codec): readonly WeakRef<object>[] => {
  const chunks: WeakRef<object>[] = []
  const { readChunk } = codec
  const watched: Codec['readChunk'] = (value, read) =>
    readChunk(value, (bytes, at) => {
      chunks.push(new WeakRef(bytes))
      return read(bytes, at)
    })
  Object.assign(codec, { readChunk: watched })
  return chunks
}

const hours = 200

it('a worker releases the records of a step before its rows are stored and its receipts are written', async () => {
  const home = await makeHome(fixture.client, { import: 0.25 })
  const records = Array.from({ length: hours }, (_, hour) => {
    const start = Date.parse('2025-06-01T00:00:00Z') + hour * 3_600_000
    return bought(home, 1, new Date(start).toISOString(), new Date(start + 3_600_000).toISOString())
  })
  await fixture.client.ask('PUT', '/meters/interval', records)
  const read = watchChunks(fixture.codec)
  const alive = (): number => read.filter(one => one.deref() !== undefined).length
  const left: Record<string, number> = {}
  fixture.gate.insert = async ({ table }, go) => {
    // After some turns, only the references of pending work remain.
    await new Promise(resolve => setTimeout(resolve, 50))
    collectGarbage()
    left[table] ??= alive()
    await go()
  }
  await fixture.start()
  await fixture.waitUntilRead()
  expect(read.length).toBeGreaterThan(0)
  expect(left).toEqual({ meter_cost: 0, meter_batch_parts: 0, meter_batches: 0 })
  expect((await recordsOf(fixture.client, home)).length).toBe(hours)
})
