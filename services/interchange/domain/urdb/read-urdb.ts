import { startOfDayNumber } from '../../../domain/civil-time.ts'
import { reportKeptOut, reportUnknown, unknownAround } from '../known-members.ts'
import {
  elementsAt,
  hasNumber,
  isAbsent,
  isSourceList,
  isSourceObject,
  memberAt,
  pointer,
  type SourceField,
  sourceFault,
  textAt,
  wholeNumberAt,
} from '../source-value.ts'
import { type ImportGroup, type ImportReader, objectToCurrency } from '../tariff-file.ts'
import { readCharges } from './urdb-charges.ts'
import { energyMembers, readEnergy } from './urdb-energy.ts'
import { isUnitOfCharge } from './urdb-members.ts'
import { isAllZero } from './urdb-rate.ts'

const maxItems = 100
const secondsPerDay = 86_400
/** Instant of the year 9999 in seconds. */
const maxEpoch = 253_402_300_799

/** Members whose amounts no charge of this service can say, with the reason. */
const reasons = [
  { names: /^coincident/, reason: 'coincident_peak', message: 'The peak of the utility is not known.' },
  { names: /^demandreactivepowercharge$/, reason: 'reactive_power', message: 'Records have no reactive power.' },
  { names: /^fixedchargeeaaddl$/, reason: 'no_charges', message: 'A location has one meter.' },
] as const

/** Numbers without a price: ids, times and limits of the rate. */
const textNumbers = /^(eiaid|revisions|peakkw|voltage|demandhist|sourceversion)/

const reportAttributes = (item: SourceField, { report }: ImportReader): void => {
  for (const name of ['energyattrs', 'demandattrs', 'fixedattrs']) {
    const sourceField = memberAt(item, name)
    if (sourceField.value === undefined || sourceField.value === null) continue
    const hasAmount = hasNumber(sourceField.value) || /\d/.test(JSON.stringify(sourceField.value))
    if (!hasAmount) report.addNoted(sourceField.path, 'has no amount')
    else
      report.addNotImported({
        path: sourceField.path,
        reason: 'discount_by_attribute',
        affects: 'bill',
        message: 'The amount depends on an attribute of the customer.',
      })
  }
}

const reportOthers = (item: SourceField, reader: ImportReader): void => {
  if (!isSourceObject(item.value)) return
  reportAttributes(item, reader)
  for (const name of Object.keys(item.value)) {
    const { path, value } = memberAt(item, name)
    if (value === undefined) continue
    if (textNumbers.test(name)) reader.report.addNoted(path, 'has no price')
    const found = reasons.find(({ names }) => names.test(name))
    if (found === undefined) continue
    if (!hasNumber(value) || isAllZero(value, path)) reader.report.addNoted(path, 'has no amount')
    else reader.report.addNotImported({ path, reason: found.reason, affects: 'bill', message: found.message })
  }
}

/** Return the local day of an instant in seconds; null if it is absent. Only its UTC date counts. */
const dayOf = (sourceField: SourceField): number | null => {
  const seconds = wholeNumberAt(sourceField, 0, maxEpoch)
  return seconds === null ? null : Math.floor(seconds / secondsPerDay)
}

/** Report unknown members of a rate, except those of its charges. Returns true if its energy is not imported. */
const objectToMembers = (item: SourceField, reader: ImportReader): boolean => {
  const unknown = unknownAround(reader.unknown, memberAt(item, 'energyratestructure'))
  reportUnknown(unknown.filter(isUnitOfCharge), { reason: 'unit', affects: 'bill' }, reader)
  const others = unknown.filter(member => !isUnitOfCharge(member))
  if (!reportUnknown(others, { affects: 'price' }, reader)) return false
  reportKeptOut(
    energyMembers.map(name => memberAt(item, name)),
    { affects: 'price' },
    reader,
  )
  return true
}

const readItem = (item: SourceField, reader: ImportReader): ImportGroup => {
  const { context } = reader
  const label = textAt(memberAt(item, 'label'))
  const sourceId = `urdb:${label ?? textAt(memberAt(item, 'name')) ?? ''}`
  const [startField, endField] = [memberAt(item, 'startdate'), memberAt(item, 'enddate')]
  const [start, end] = [dayOf(startField), dayOf(endField)]
  reportOthers(item, reader)
  if (objectToCurrency(item.path, 'USD', reader))
    return { start: null, end: null, validityFrom: [], tariffs: [], charges: [] }
  return {
    start: start === null ? null : startOfDayNumber(context.timeZone, start),
    end: end === null ? null : startOfDayNumber(context.timeZone, end + 1),
    validityFrom: [startField, endField].filter(sourceField => !isAbsent(sourceField)).map(({ path }) => path),
    tariffs: objectToMembers(item, reader) ? [] : readEnergy(item, reader, sourceId),
    charges: readCharges({ item, reader, sourceId }),
  }
}

/** Refuse the bulk download of OpenEI: a list of rates with other names, such as energyRateStrux. */
const refuseBulkLayout = ({ value }: SourceField): void => {
  if (!isSourceList(value)) return
  const [first] = value
  const name = isSourceObject(first) ? Object.keys(first).find(one => /strux$|sched$|\//i.test(one)) : undefined
  const path = name === undefined ? '/0' : pointer('/0', name)
  const message =
    'is in the layout of the bulk download of OpenEI. Send one rate, or an object with the list of rates in items, in the layout of the API, version 7 or 8'
  throw sourceFault(path, message)
}

/**
 * Read rates of the Utility Rate Database: one rate, or `items` with up to 100 rates.
 * Source: docs/rules/interchange-tariffs.md #urdb.
 */
export const readUrdb = (file: SourceField, reader: ImportReader): readonly ImportGroup[] => {
  refuseBulkLayout(file)
  const items = memberAt(file, 'items')
  return (isAbsent(items) ? [file] : elementsAt(items, maxItems)).map(item => readItem(item, reader))
}
