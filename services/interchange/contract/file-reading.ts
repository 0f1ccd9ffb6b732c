import { exactNumber } from '../../contract/json/exact-number.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { FileReading, ObjectName } from '../domain/reading.ts'

/** Returns the text of an object in a record, as JSON. */
export type NameWriter = (name: ObjectName, kind: 'locations' | 'devices') => string

/** Return the text by which the API names an object: its id, or `reference:` and its own reference. */
export const objectNameText = (name: ObjectName): string => ('id' in name ? name.id : `reference:${name.reference}`)

/** Write the name of an object as JSON. */
export const objectNameJson = (name: ObjectName): string => JSON.stringify(objectNameText(name))

const directionsText = ({ directions }: FileReading): string =>
  directions === null
    ? ''
    : `,"energy_flow_direction":"${directions.energyFlowDirection}","tariff_direction":"${directions.tariffDirection}"`

const textMember = (name: string, text: string | null): string =>
  text === null ? '' : `,"${name}":${JSON.stringify(text)}`

/** Write the members that name the objects of a reading, without braces. */
const objectMembers = (
  { location, device, sessionReferenceId }: FileReading,
  nameOf: NameWriter = objectNameJson,
): string => {
  const deviceText = device === null ? '' : `,"device_id":${nameOf(device, 'devices')}`
  const session = textMember('session_reference_id', sessionReferenceId)
  return `"location_id":${nameOf(location, 'locations')}${deviceText}${session}`
}

/**
 * Write a reading as a record of `PUT /meters/interval`: a line of JSON without its line end. The value keeps its digits.
 * `nameOf` writes the names of location and device.
 */
export const readingToRecordLine = (reading: FileReading, nameOf: NameWriter = objectNameJson): string => {
  const reference = textMember('record_reference_id', reading.recordReferenceId)
  const confidence = reading.confidence === null ? '' : `,"confidence":${reading.confidence}`
  const times = `"start_time":"${writeInstant(reading.start)}","end_time":"${writeInstant(reading.end)}"`
  const head = `{${objectMembers(reading, nameOf)}${reference}${directionsText(reading)}${confidence}`
  return `${head},"units":"${reading.units}","value":${reading.value},${times}}`
}

/** Return the exact value of a reading; null withdraws the reading. */
export const elementValue = ({ value }: FileReading) => (value === 'null' ? null : exactNumber(value))

/** Return a reading as the parsed record of `PUT /meters/interval`, with its exact value. */
export const readingToElement = (reading: FileReading): Readonly<Record<string, unknown>> => ({
  ...(JSON.parse(readingToRecordLine(reading)) as object),
  value: elementValue(reading),
  ...(reading.confidence === null ? {} : { confidence: exactNumber(reading.confidence) }),
})

/**
 * Write the readings of one register as a body of `PUT /meters/cumulative/epoch`; null without readings. All are of the same
 * register, session and unit, at whole seconds.
 */
export const readingsToRegisterBody = (readings: readonly FileReading[]): string | null => {
  const [first] = readings
  if (first === undefined) return null
  const data = readings.map(({ start, value, recordReferenceId, isRestart }) => {
    const restart = isRestart ? ',"restart":true' : ''
    return `{"time":${start / 1000},"value":${value}${restart}${textMember('record_reference_id', recordReferenceId)}}`
  })
  return `{${objectMembers(first)}${directionsText(first)},"units":"${first.units}","data":[${data.join(',')}]}`
}
