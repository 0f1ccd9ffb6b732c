import type { FileReading, ObjectName } from './reading.ts'

/** Values by the meter of a reading: its location, and its device or none. */
export type MeterMap<Value> = {
  readonly get: (reading: FileReading) => Value | undefined
  readonly set: (reading: FileReading, value: Value) => void
}

const keyOf = (name: ObjectName | null): string => (name === null ? '' : 'id' in name ? name.id : name.reference)

/** Create a map. Two look-ups are faster than a joined key, which is a new text for each reading. */
export const meterMap = <Value>(): MeterMap<Value> => {
  const locations = new Map<string, Map<string, Value>>()
  return {
    get: ({ location, device }) => locations.get(keyOf(location))?.get(keyOf(device)),
    set: ({ location, device }, value) => {
      const devices = locations.get(keyOf(location))
      if (devices === undefined) locations.set(keyOf(location), new Map([[keyOf(device), value]]))
      else devices.set(keyOf(device), value)
    },
  }
}
