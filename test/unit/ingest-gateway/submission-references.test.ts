import { describe, expect, it } from 'vitest'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createLocation, deleteLocation } from '../../../services/platform/postgres/registry/locations.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { readPartitions, recordsOf } from '../../support/metering/gateway.ts'
import {
  deviceId,
  gateway,
  live,
  locationId,
  many,
  record,
  submit,
  useGateway,
} from '../../support/metering/submissions.ts'
import { locationDraft } from '../../support/registry/drafts.ts'
import { until } from '../../support/system/until.ts'

useGateway()

/** Change by another process: this gateway does not receive it. */
const elsewhere = {
  delete: (id: string) =>
    withTenant(gateway.database, live, transaction => deleteLocation(transaction, id, currentInstant())),
  create: async (referenceId: string): Promise<string> => {
    const made = acceptedValue(
      await withTenant(gateway.database, live, transaction =>
        createLocation(transaction, locationDraft({ referenceId }), currentInstant()),
      ),
    )
    return made.id
  },
}

describe('records with references', () => {
  it('get the ids of their objects before they are written, for any number of records', async () => {
    const names = { location_id: 'reference:home', device_id: 'reference:home' }
    const { id, failed_records: failed } = await submit(many(5_000).map(one => ({ ...one, ...names })))
    expect(failed).toEqual([])
    const records = recordsOf(await readPartitions(gateway), id)
    expect(records).toHaveLength(5_000)
    expect(new Set(records.map(one => `${one.locationId} ${one.deviceId}`))).toEqual(
      new Set([`${locationId} ${deviceId}`]),
    )
    const byId = await submit([record(0, { device_id: deviceId })])
    expect(recordsOf(await readPartitions(gateway), byId.id)[0]?.recordId).toBe(records[0]?.recordId)
  })

  it('are refused one by one, for any number of records, if no object has the reference or the id', async () => {
    const digits = (index: number) => String(index).padStart(24, '0')
    for (const names of [
      (index: number) => ({ location_id: `loc_${digits(index)}`, device_id: `dev_${digits(index)}` }),
      (index: number) => ({ location_id: `reference:${index}`, device_id: `reference:${index}` }),
    ]) {
      const { id, failed_records: failed } = await submit(
        many(10_000).map((one, index) => ({ ...one, ...names(index) })),
      )
      expect(failed).toHaveLength(10_000)
      const storedReferences = (await readPartitions(gateway)).flatMap(({ message }) =>
        message.kind === 'submission' && message.batchId === id ? message.refused : [],
      )
      expect(storedReferences).toHaveLength(10_000)
    }
  })

  it('follow what another process changes within 5 s', async () => {
    const first = await elsewhere.create('depot')
    const accepted = async () => {
      const { id } = await submit([record(1, { location_id: 'reference:depot' })])
      return recordsOf(await readPartitions(gateway), id)[0]
    }
    expect((await accepted())?.locationId).toBe(first)
    await elsewhere.delete(first)
    const changedAt = performance.now()
    const second = await elsewhere.create('depot')
    await until(accepted, one => one?.locationId === second)
    expect(performance.now() - changedAt).toBeLessThan(7_000)
    await elsewhere.delete(second)
    await until(accepted, one => one === undefined)
    // Unknown references are not cached.
    const third = await elsewhere.create('depot')
    expect((await accepted())?.locationId).toBe(third)
  }, 30_000)
})
