import type { Fraction } from '../../../domain/fraction.ts'
import { fractionOf } from '../../../domain/fraction.ts'
import { parseInstant } from '../../../domain/instant.ts'
import {
  elementsAt,
  fractionAt,
  isAbsent,
  memberAt,
  requiredFraction,
  requiredText,
  type SourceField,
  sourceFault,
  textAt,
} from '../source-value.ts'
import { givenVat, type ImportReader, isZero, multiply } from '../tariff-file.ts'
import { type Restrictions, readRestrictions } from './ocpi-restrictions.ts'

/** Price of a dimension, with its element. `vat` null: the price has no tax to add. */
export type OcpiPrice = {
  readonly sourceField: SourceField
  readonly type: string
  readonly price: Fraction
  readonly vat: Fraction | null
  readonly step: SourceField
  /** JSON pointers of its numbers and restrictions. */
  readonly from: readonly string[]
  readonly restrictions: Restrictions
}

export type OcpiTariff = {
  readonly sourceField: SourceField
  readonly sourceId: string
  readonly name: string
  readonly prices: readonly OcpiPrice[]
  /** Instants in ms; null is open. */
  readonly start: number | null
  readonly end: number | null
  readonly validityFrom: readonly string[]
}

const maxElements = 100
const hundredth = fractionOf(1n, 100n)
const types = ['ENERGY', 'FLAT', 'TIME', 'PARKING_TIME']

const readInstantAt = (sourceField: SourceField): number | null => {
  const text = textAt(sourceField)
  if (text === null) return null
  // OCPI times without an offset are UTC.
  const at = parseInstant(/[zZ]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`)
  if (at === undefined) throw sourceFault(sourceField.path, 'must be a date and time in UTC')
  return at
}

type Tax = { readonly isAdded: boolean; readonly given: Fraction | null }

/** Read the tax of a price component. Reports a tax that is not added to the price. */
const readVat = (component: SourceField, { isAdded, given }: Tax, { report, options }: ImportReader) => {
  const sourceField = memberAt(component, 'vat')
  const vat = fractionAt(sourceField)
  if (!isAdded) {
    if (vat !== null) report.addNoted(sourceField.path, 'The price includes the tax.')
    return null
  }
  if (options.vat === 'NONE') {
    const message = 'The tax is not added. To add it, set vat, or --vat on the command line.'
    if (vat !== null && !isZero(vat))
      report.addNotImported({ path: sourceField.path, reason: 'tax', affects: 'bill', message })
    return null
  }
  return given ?? (vat === null ? null : multiply(vat, hundredth))
}

const readComponent = (
  component: SourceField,
  restrictions: Restrictions,
  tax: Tax,
  reader: ImportReader,
): OcpiPrice => {
  const type = requiredText(memberAt(component, 'type'))
  if (!types.includes(type)) throw sourceFault(memberAt(component, 'type').path, `must be one of ${types.join(', ')}`)
  const price = memberAt(component, 'price')
  return {
    sourceField: component,
    type,
    price: requiredFraction(price),
    vat: readVat(component, tax, reader),
    step: memberAt(component, 'step_size'),
    from: [component.path, ...restrictions.paths],
    restrictions,
  }
}

/** Read a tariff of OCPI 2.2.1 or 2.3.0. Prices include the tax if `tax_included` is YES. */
export const readOcpiTariff = (sourceField: SourceField, reader: ImportReader): OcpiTariff => {
  const at = (name: string): SourceField => memberAt(sourceField, name)
  const included = textAt(at('tax_included'))
  const tax = { isAdded: included !== 'YES' && included !== 'N/A', given: givenVat(reader.options) }
  const [start, end] = [at('start_date_time'), at('end_date_time')]
  const parts = ['country_code', 'party_id', 'id'].map(name => textAt(at(name)) ?? '')
  const prices = elementsAt(at('elements'), maxElements).flatMap(element => {
    const restrictions = readRestrictions(element)
    return elementsAt(memberAt(element, 'price_components'), 10).map(component =>
      readComponent(component, restrictions, tax, reader),
    )
  })
  return {
    sourceField,
    sourceId: `ocpi:${parts.join('-')}`,
    name: `OCPI tariff ${textAt(at('id')) ?? ''}`.trim(),
    prices,
    start: readInstantAt(start),
    end: readInstantAt(end),
    validityFrom: [start, end].filter(one => !isAbsent(one)).map(({ path }) => path),
  }
}
