import type { Client } from '../system/client.ts'
import { makeOne } from '../system/home.ts'
import { type BillCase, billRecords, type WireObject } from './bill-cases.ts'

/** Members whose texts are texts in the API too, although they look like numbers. */
const textMembers = new Set(['name', 'component', 'unit', 'month', 'session_reference_id', 'date'])

/** Return JSON with the numbers of a case, whose digits the case has as texts. */
export const jsonOf = (value: unknown): string => {
  const write = (one: unknown, name: string): string => {
    if (typeof one === 'string')
      return !textMembers.has(name) && /^-?\d+(?:\.\d+)?$/.test(one) ? one : JSON.stringify(one)
    if (Array.isArray(one)) return `[${one.map(element => write(element, name)).join(',')}]`
    if (typeof one !== 'object' || one === null) return JSON.stringify(one)
    const members = Object.entries(one).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${write(member, key)}`).join(',')}}`
  }
  return write(value, '')
}

/** Devices of a case: names of the case by id, and ids by name. */
type CaseDevices = { readonly idOf: ReadonlyMap<string, string>; readonly nameOf: ReadonlyMap<string, string> }

const createDevices = async (client: Client, one: BillCase): Promise<CaseDevices> => {
  const charged = one.charges.flatMap(charge => (charge['device_ids'] ?? []) as readonly string[])
  const names = new Set([...billRecords(one).flatMap(record => record.device_id ?? []), ...charged])
  const idOf = new Map<string, string>()
  for (const name of names) idOf.set(name, await makeOne(client, '/devices', { reference_id: `${name} of ${one.id}` }))
  return { idOf, nameOf: new Map([...idOf].map(([name, id]) => [id, name])) }
}

const createCalendar = async (client: Client, { calendar, id }: BillCase): Promise<object> => {
  if (calendar === undefined || calendar === null) return {}
  return { calendar_id: await makeOne(client, '/calendars', { name: id, add: calendar.add }) }
}

const maxRecords = 2_000

/** Create the location of a case with its records. Return its id and its devices. */
export const postCase = async (client: Client, one: BillCase): Promise<CaseDevices & { readonly location: string }> => {
  const { timezone, currency_code } = one.location
  const location = await makeOne(client, '/locations', {
    timezone,
    currency_code,
    ...(await createCalendar(client, one)),
  })
  const devices = await createDevices(client, one)
  const post = (path: string, body: object) => client.ask('POST', path, jsonOf({ ...body, location_id: location }))
  for (const tariff of one.tariffs) await post('/tariffs', tariff)
  for (const charge of one.charges) {
    const ids = (charge as WireObject)['device_ids'] as readonly string[] | undefined
    await post('/charges', { ...charge, device_ids: ids?.map(name => devices.idOf.get(name)) })
  }
  const records = billRecords(one).map(record => ({
    units: 'KWH',
    ...record,
    location_id: location,
    device_id: record.device_id === undefined ? undefined : devices.idOf.get(record.device_id),
  }))
  for (let from = 0; from < records.length; from += maxRecords)
    await client.submit(jsonOf(records.slice(from, from + maxRecords)))
  return { ...devices, location }
}
