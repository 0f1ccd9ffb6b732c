import { z } from 'zod'
import { count, idText, orNull } from '../../contract/answer-field.ts'
import { objectIdentifier, oneOf, refuseField, text } from '../../contract/field.ts'
import { currentRoute, defineOperation } from '../../contract/operation.ts'
import { flag, parameters } from '../../contract/parameter.ts'
import { readShape } from '../../contract/read-shape.ts'
import { locationOnly } from '../../contract/reference.ts'
import { parseDate } from '../../domain/civil-date.ts'
import { fractionOf } from '../../domain/fraction.ts'
import { percentageScale, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { notImportedReasons } from '../domain/report.ts'
import { type ImportOptions, tariffFormats } from '../domain/tariff-file.ts'

/** Local date as a day number of `civil-date.ts`, or `open`. */
const dateOrOpen = z
  .string()
  .transform((value, context): number | 'open' => {
    const day = value === 'open' ? value : parseDate(value)
    return day ?? refuseField(context, 'field_invalid', 'must be open or a date of the form YYYY-MM-DD')
  })
  .meta({ type: 'string', examples: ['2026-01-01'] })

const decimal = (scale: number, min: bigint, max: bigint) =>
  z
    .string()
    .transform((value, context) => {
      const read = readDecimal(value, { scale, min, max }, '')
      return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
    })
    .meta({ type: 'number' })

const surcharge = decimal(9, -1_000_000_000_000_000n, 1_000_000_000_000_000n)
const one = 10n ** BigInt(percentageScale)
const percentage = decimal(percentageScale - 2, -one, 5n * one)

/** Percent with 13 decimals, as a fraction with 15; SOURCE: the rates of the file. */
const vat = z
  .string()
  .transform((value): 'SOURCE' | string => (value.toLowerCase() === 'true' ? 'SOURCE' : value))
  .pipe(z.union([z.literal('SOURCE'), percentage]))
  .meta({ type: 'string', examples: ['25'] })

const maxChoices = 20

/** Names, separated by commas. */
const choices = z
  .string()
  .transform((value, context) => {
    const names = value.split(',').map(name => name.trim())
    return names.includes('') || names.length > maxChoices
      ? refuseField(context, 'field_invalid', `must be 1 to ${maxChoices} names, separated by commas`)
      : names
  })
  .meta({ type: 'string', examples: ['41000,NT-C'] })

const importShape = z.object({
  object: z.literal('tariff_import'),
  format: z.enum(tariffFormats),
  location_id: idText('loc'),
  sha256: z.string().describe('SHA-256 of the file.'),
  dry_run: z.boolean(),
  created: count.describe('Tariffs and charges that the import created.'),
  unchanged: count.describe('Tariffs and charges that an earlier import created.'),
  replaced: count.describe('Tariffs and charges that were voided.'),
  imported: z.array(
    z
      .object({
        object: z.enum(['tariff', 'charge']),
        id: orNull(z.string()).describe('Null in a dry run, if the object does not exist yet.'),
        name: z.string(),
        direction: orNull(z.enum(['IMPORT', 'EXPORT', 'LOCAL'])).describe('Null for a charge.'),
        type: z.string().describe('Type of the tariff, or kind of the charge.'),
        status: z.enum(['CREATED', 'UNCHANGED']),
        from: z.array(z.string()).describe('JSON pointers of its prices in the file.'),
      })
      .meta({ component: 'ImportedPrice' }),
  ),
  not_imported: z.array(
    z
      .object({
        path: z.string().describe('JSON pointer in the file.'),
        reason: z.enum(notImportedReasons),
        affects: z.enum(['price', 'bill']).describe('price: its tariff is not imported. bill: it adds to the bill.'),
        message: z.string(),
      })
      .meta({ component: 'NotImported' }),
  ),
  noted: z.array(
    z
      .object({ path: z.string().describe('JSON pointer in the file.'), message: z.string() })
      .meta({ component: 'NotedPart' }),
  ),
})

export type TariffImportWire = z.output<typeof importShape>

const example: TariffImportWire = {
  object: 'tariff_import',
  format: 'urdb',
  location_id: 'loc_0198c0ffee00112233445566',
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  dry_run: false,
  created: 1,
  unchanged: 0,
  replaced: 0,
  imported: [
    {
      object: 'tariff',
      id: 'trf_0198c0ffee00112233445566',
      name: 'Residential time of use',
      direction: 'IMPORT',
      type: 'COMMODITY',
      status: 'CREATED',
      from: ['/items/0/energyratestructure', '/items/0/energyweekdayschedule'],
    },
  ],
  not_imported: [
    {
      path: '/items/0/demandreactivepowercharge',
      reason: 'reactive_power',
      affects: 'bill',
      message: 'Records have no reactive power.',
    },
  ],
  noted: [{ path: '/items/0/utility', message: 'has no price' }],
}

/** Parameters that choose a part of a file or change its prices. */
const choiceParameters = {
  valid_from: dateOrOpen
    .optional()
    .describe('Start of the first contract: a local date, or open. Default: as in the file.'),
  valid_to: dateOrOpen.optional().describe('End of the last contract, exclusive: a local date, or open.'),
  surcharge: surcharge.optional().describe('Added to each imported kWh, in major units.'),
  vat: vat.optional().describe('Value-added tax in percent; true: the tax rates of the file.'),
  type: text({ max: 64 }).optional().describe('Only OCPI tariffs of this type.'),
  group: text({ max: 64 }).optional().describe('Customer group of fri-nettleie. Default: the only one of the file.'),
  code: choices
    .optional()
    .describe(
      'Only these charge codes of datahub-pricelist; the tariff code of octopus, whose last letter is the region.',
    ),
  payment: text({ max: 64 }).optional().describe('Payment method of octopus, if prices differ by it.'),
  standing: flag.default(false).describe('True: the file of octopus has standing charges.'),
  export: flag.default(false).describe('True: the file of octopus has prices of exported energy.'),
  gln: choices.optional().describe('Only the charges of these owners in datahub-pricelist.'),
}

const choiceShape = parameters(choiceParameters)
const billion = 1_000_000_000n

/** Convert the choices of a request to those of a reader. */
export const importOptionsOf = (query: z.output<typeof choiceShape>): ImportOptions => ({
  validFrom: query.valid_from ?? null,
  validTo: query.valid_to ?? null,
  surcharge: fractionOf(query.surcharge ?? 0n, billion),
  vat: query.vat === undefined ? 'NONE' : query.vat === 'SOURCE' ? 'SOURCE' : fractionOf(query.vat, one),
  type: query.type ?? null,
  group: query.group ?? null,
  codes: query.code ?? [],
  glns: query.gln ?? [],
  payment: query.payment ?? null,
  isStanding: query.standing,
  isExport: query.export,
})

/** Read the choices from options of the command line. An option without a value is true. Other options are ignored. */
export const readImportOptions = (options: Readonly<Record<string, string | undefined>>): Result<ImportOptions> => {
  const given = Object.keys(choiceParameters).flatMap(name => {
    const value = options[name]
    return value === undefined ? [] : [[name, value === '' ? 'true' : value] as const]
  })
  const read = readShape(choiceShape, Object.fromEntries(given), 'query')
  return read.ok ? accepted(importOptionsOf(read.value)) : read
}

export const tariffImport = defineOperation({
  id: 'tariff_import',
  auditAction: 'tariff.create',
  summary: 'Import tariffs',
  description:
    'Creates the tariffs and charges of a file in a format of others, all of them or none. The answer names each part of the file: imported, not imported with its reason, or noted. Prices are exact: a tariff that this service cannot express is not imported. The same file again changes nothing.',
  tag: 'Tariffs',
  access: 'all',
  routes: currentRoute('POST', '/tariffs/import'),
  references: { query: { location_id: locationOnly } },
  query: parameters({
    location_id: objectIdentifier('loc'),
    format: oneOf(...tariffFormats)
      .optional()
      .describe('Default: found by the members of the file.'),
    dry_run: flag.default(false).describe('True: answer what the import would do, and change nothing.'),
    replace: flag.default(false).describe('True: void other tariffs in the time of the imported ones.'),
    ...choiceParameters,
  }),
  body: 'raw',
  anyMediaType: true,
  bodyDocument: z.unknown().describe('File of at most 1 MiB.'),
  answer: { name: 'TariffImport', shape: importShape },
  status: 200,
  idempotent: true,
  refusals: [
    'body_invalid',
    'field_invalid',
    'field_required',
    'value_out_of_range',
    'too_many_elements',
    'location_not_found',
    'tariff_overlap',
    'currency_mismatch',
    'plan_managed',
    'market_in_use',
    'schedule_invalid',
    'charge_invalid',
    'steps_not_rising',
  ],
  examples: {
    body: { items: [{ label: '618940545457a35a1c4097ec', energyratestructure: [[{ rate: 0.11 }]] }] },
    answer: example,
  },
})
