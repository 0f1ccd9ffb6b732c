import { writeInstant } from '../../domain/instant.ts'
import type { FileReading, ObjectName } from '../../domain/interchange/reading.ts'

/** Return the text by which the API names an object: its id, or `reference:` and its own reference. */
export const objectNameText = (name: ObjectName): string => ('id' in name ? name.id : `reference:${name.reference}`)

const directionsText = ({ directions }: FileReading): string =>
  directions === null
    ? ''
    : `,"energy_flow_direction":"${directions.energyFlowDirection}","tariff_direction":"${directions.tariffDirection}"`

const textMember = (name: string, text: string | null): string =>
  text === null ? '' : `,"${name}":${JSON.stringify(text)}`

/** Write the members that name the objects of a reading, without braces. */
const objectMembers = ({ location, device, sessionReferenceId }: FileReading): string => {
  const deviceText = textMember('device_id', device === null ? null : objectNameText(device))
  const session = textMember('session_reference_id', sessionReferenceId)
  return `"location_id":${JSON.stringify(objectNameText(location))}${deviceText}${session}`
}

/**
 * Write a reading as a record of `PUT /meters/interval`: a line of JSON without its line end. The value keeps its digits.
 */
export const readingToRecordLine = (reading: FileReading): string => {
  const reference = textMember('record_reference_id', reading.recordReferenceId)
  const confidence = reading.confidence === null ? '' : `,"confidence":${reading.confidence}`
  const times = `"start_time":"${writeInstant(reading.start)}","end_time":"${writeInstant(reading.end)}"`
  const head = `{${objectMembers(reading)}${reference}${directionsText(reading)}${confidence}`
  return `${head},"units":"${reading.units}","value":${reading.value},${times}}`
}

/**
 * Write the readings of one register as a body of `PUT /meters/cumulative/epoch`. At least one; all of the same register,
 * session and unit, at whole seconds.
 */
export const readingsToRegisterBody = (readings: readonly [FileReading, ...FileReading[]]): string => {
  const data = readings.map(({ start, value, recordReferenceId }) => {
    return `{"time":${start / 1000},"value":${value}${textMember('record_reference_id', recordReferenceId)}}`
  })
  const [first] = readings
  return `{${objectMembers(first)}${directionsText(first)},"units":"${first.units}","data":[${data.join(',')}]}`
}
