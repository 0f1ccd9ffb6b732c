import { validateCharge } from '../../domain/charge/validate-charge.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { validateCoverage } from '../../domain/tariff/validate-coverage.ts'
import { pricelistMembers, readPricelist } from './datahub-pricelist/read-pricelist.ts'
import { gridPriceMembers, readGridPrices } from './fri-nettleie/read-grid-prices.ts'
import { type MemberTable, unknownMembers } from './known-members.ts'
import { ocpiMembers } from './ocpi/ocpi-members.ts'
import { readOcpi } from './ocpi/read-ocpi.ts'
import { octopusMembers, readOctopus } from './octopus/read-octopus.ts'
import { collectReport } from './report.ts'
import { isSourceObject, refusalOfFault, type SourceField, type SourceValue } from './source-value.ts'
import {
  dateGroups,
  type ImportContext,
  type ImportGroup,
  type ImportOptions,
  type ImportReader,
  type TariffFile,
  type TariffFormat,
} from './tariff-file.ts'
import { readUrdb } from './urdb/read-urdb.ts'
import { urdbMembers } from './urdb/urdb-members.ts'

type FormatReader = (file: SourceField, reader: ImportReader) => readonly ImportGroup[]

const readers: Readonly<Record<TariffFormat, FormatReader>> = {
  urdb: readUrdb,
  ocpi: readOcpi,
  'fri-nettleie': readGridPrices,
  'datahub-pricelist': readPricelist,
  octopus: readOctopus,
}

/** Return the members of a format. Files of some formats are one object or an envelope with a list of them. */
const membersOf = (format: TariffFormat, file: SourceValue): MemberTable => {
  if (format === 'urdb') return urdbMembers(file)
  if (format === 'ocpi') return ocpiMembers(file)
  return { 'fri-nettleie': gridPriceMembers, 'datahub-pricelist': pricelistMembers, octopus: octopusMembers }[format]
}

/** Return the format of a file by its members; null if none fits. */
export const detectTariffFormat = (file: SourceValue): TariffFormat | null => {
  const first = Array.isArray(file) ? file[0] : file
  if (!isSourceObject(first)) return null
  const has = (name: string): boolean => Object.hasOwn(first, name)
  if (has('items') || has('energyratestructure') || has('label') || has('energyRateStrux')) return 'urdb'
  if (has('tariffer')) return 'fri-nettleie'
  if (has('records')) return 'datahub-pricelist'
  if (has('results')) return 'octopus'
  return has('elements') || has('data') ? 'ocpi' : null
}

/**
 * Read a file of tariffs. The report names each part that cannot be imported exactly.
 * Refuses a file that does not have the form of its format, with the JSON pointer of the first fault.
 * Source: docs/rules/interchange-tariffs.md #exact-prices, #report.
 */
export const readTariffFile = (
  format: TariffFormat,
  file: SourceValue,
  context: ImportContext,
  options: ImportOptions,
): Result<TariffFile> => {
  const report = collectReport()
  const root = { path: '', value: file }
  try {
    const unknown = unknownMembers(root, membersOf(format, file), context.nearestName)
    const reader: ImportReader = { context, options, report, unknown }
    const groups = readers[format](root, reader)
    const datedParts = dateGroups(groups, reader)
    for (const { terms } of datedParts.tariffs) {
      const refusal = validateCoverage(terms.schedule)
      if (refusal !== undefined) return { ok: false, refusal }
    }
    for (const { terms } of datedParts.charges) {
      const refusal = validateCharge(terms)
      if (refusal !== null) return { ok: false, refusal }
    }
    return accepted({ ...datedParts, ...report.finish(file) })
  } catch (error) {
    return refusalOfFault(error)
  }
}
