import { createHash } from 'node:crypto'
import { isDecimal } from './decimal.js'

/** Identities of the records of a call. */
export type CallIdentities = {
  /** Note a record. Returns the position of an earlier record with its identity and another value; null if there is none. */
  readonly note: (record: unknown) => number | null
}

/** Records of a table. Two tables are in memory, so each record is compared with at least so many records before it. */
const tableRecords = 2 ** 22
/** Numbers of an entry: two of the hash of the identity, one of the hash of the value, and the position. */
const entryNumbers = 4

/** Return a number as text. Equal numbers of another length, such as 1.50 and 1.5, have one text. */
const numberText = (value: unknown): string => {
  const text = isDecimal(value) ? value.text : String(value ?? '')
  if (!/^-?\d+\.\d+$/.test(text)) return text
  let end = text.length
  while (text[end - 1] === '0') end -= 1
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end)
}

const offsetTime = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/i

const timeText = (value: unknown): string => {
  const at = typeof value === 'string' && offsetTime.test(value) ? Date.parse(value) : Number.NaN
  return String(Number.isNaN(at) ? value : at)
}

/** Members of a record in both API versions. */
type Members = { readonly [Name in string]?: unknown }

/** Return the members that make the identity of a record. */
const identityText = (record: Members): string => {
  const isOutbound = [record['energy_flow_direction'], record['direction']].some(
    word => word === 'OUTBOUND' || word === 'EXPORT',
  )
  const tariff = record['tariff_direction'] ?? record['tariff_rate'] ?? (isOutbound ? 'EXPORT' : 'IMPORT')
  const names = ['location_id', 'device_id', 'session_reference_id', 'record_reference_id']
  const texts = names.map(name => record[name] ?? null)
  return JSON.stringify([...texts, isOutbound, tariff, timeText(record['start_time']), timeText(record['end_time'])])
}

const valueText = (record: Members): string =>
  JSON.stringify([record['units'] ?? null, numberText(record['value']), numberText(record['confidence'] ?? 1)])

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Table of hashes with open addressing. It doubles when it is half full. */
const hashTable = () => {
  let entries = new Uint32Array(1024 * entryNumbers)
  let count = 0
  /** Return the index of the entry of an identity, or of the free entry for it. */
  const indexOf = (low: number, high: number): number => {
    const slots = entries.length / entryNumbers
    for (let slot = low % slots; ; slot = (slot + 1) % slots) {
      const index = slot * entryNumbers
      if (entries[index + 3] === 0 || (entries[index] === low && entries[index + 1] === high)) return index
    }
  }
  const grow = (): void => {
    const old = entries
    entries = new Uint32Array(old.length * 2)
    for (let index = 0; index < old.length; index += entryNumbers)
      if (old[index + 3] !== 0)
        entries.set(old.subarray(index, index + entryNumbers), indexOf(old[index] as number, old[index + 1] as number))
  }
  return {
    isFull: (): boolean => count === tableRecords,
    /** Return the hash of the value and the position of an identity; null if the table does not have it. */
    find: (low: number, high: number): readonly [number, number] | null => {
      const index = indexOf(low, high)
      const position = entries[index + 3] as number
      return position === 0 ? null : [entries[index + 2] as number, position]
    },
    add: (entry: readonly [number, number, number, number]): void => {
      if (count * 2 * entryNumbers >= entries.length) grow()
      entries.set(entry, indexOf(entry[0], entry[1]))
      count += 1
    },
  }
}

/**
 * Find records of a call that have the identity of an earlier record of the call and another value. Needs at most 256 MiB:
 * compares each record with at least 4,194,304 records before it.
 */
export const callIdentities = (): CallIdentities => {
  let [current, earlier] = [hashTable(), hashTable()]
  let position = 0
  return {
    note: record => {
      position += 1
      if (typeof record !== 'object' || record === null || Array.isArray(record)) return null
      const identity = hashOf(identityText(record as Members))
      const [low, high] = [identity.readUInt32LE(0), identity.readUInt32LE(4)]
      const value = hashOf(valueText(record as Members)).readUInt32LE(0)
      const found = current.find(low, high) ?? earlier.find(low, high)
      if (found !== null) return found[0] === value ? null : found[1]
      if (current.isFull()) [current, earlier] = [hashTable(), current]
      current.add([low, high, value, position])
      return null
    },
  }
}
