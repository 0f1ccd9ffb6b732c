import pg from 'pg'
import type { Client } from '../../support/system/client.ts'
import { createFleet, type Fleet, type Pricing } from './fleet.ts'

/** Locations that are created over HTTP. Their tariffs differ, and all other locations are copies of them. */
const originals = 16

/** Return the SQL of the id that a copy has instead of `id`: the number of the copy replaces some digits. */
const copied = (id: string): string => `left(${id}, 12) || lpad(to_hex(copy), 8, '0') || right(${id}, 8)`

/** Return the SQL that copies rows `$2` times. `$1`: ids of `column` of the originals. `members`: members that change. */
const copyRows = (table: string, column: string, members: string): string => `
  insert into ${table} select row.* from generate_series(1, $2::int) copy, ${table} original,
    lateral jsonb_populate_record(original, jsonb_build_object(${members})) row
  where original.${column} = any($1) order by copy, array_position($1, original.${column}) returning id`

const copyLocations = copyRows('locations', 'id', `'id', ${copied('original.id')}`)
const copyDevices = copyRows(
  'devices',
  'id',
  `'id', ${copied('original.id')}, 'reference_id', original.reference_id || '-' || copy`,
)
const copyTariffs = copyRows(
  'tariffs',
  'location_id',
  `'id', ${copied('original.id')}, 'location_id', ${copied('original.location_id')}`,
)

/**
 * Create locations with one tariff each, and two devices for each location, like `createFleet`. Most locations are
 * copies of rows in PostgreSQL: a million locations take minutes instead of hours. `postgresUrl`: the owner's address.
 */
export const copiedFleet = async (
  client: Client,
  postgresUrl: string,
  locationCount: number,
  pricing?: Pricing,
): Promise<Fleet> => {
  const createdCount = Math.min(originals, locationCount)
  const created = await createFleet(client, createdCount, createdCount * 2, pricing)
  const copies = Math.ceil(locationCount / createdCount) - 1
  const database = new pg.Client({ connectionString: postgresUrl })
  await database.connect()
  try {
    const copy = async (statement: string, ids: readonly string[]): Promise<readonly string[]> => {
      const { rows } = await database.query<{ readonly id: string }>(statement, [ids, copies])
      return rows.map(({ id }) => id)
    }
    const locations = [...created.locations, ...(await copy(copyLocations, created.locations))]
    const devices = [...created.devices, ...(await copy(copyDevices, created.devices))]
    await copy(copyTariffs, created.locations)
    await database.query('analyze locations, devices, tariffs')
    return { locations: locations.slice(0, locationCount), devices: devices.slice(0, locationCount * 2) }
  } finally {
    await database.end()
  }
}
