import { writtenTariffFormats } from '../../domain/interchange/write-tariffs.ts'
import { keyVariable } from '../../platform/config/config.ts'
import type { Command, CommandOption } from '../command.ts'
import { costFormats, exportInFormat } from '../export/export-in-format.ts'
import { fileTargetOptions } from '../import/import-target.ts'

const details = [
  `The key is read from ${keyVariable}, from the file of --key, or from sandbox.json. Test mode without --live.`,
  'FILE.part is the file until it is complete. The report names each part that the format cannot express.',
  'Exit codes: 0 all, 3 some parts not written, 1 nothing written or a fault, 2 usage error, 130 interrupted.',
]

const outOption: CommandOption = { value: 'FILE', summary: 'File to write.', isRequired: true }

const exportCostsCommand: Command = {
  name: 'export costs',
  operands: [],
  summary: 'Export costs as Green Button or OCPI records.',
  details: [
    'green-button has a reading with its cost for each record of a location or device.',
    'ocpi-cdr has a record for each charging session whose last record starts in the time.',
    ...details,
  ],
  options: {
    from: { value: 'TIME', summary: 'Start, inclusive, such as 2026-01-01T00:00:00+01:00.', isRequired: true },
    to: { value: 'TIME', summary: 'End, exclusive.', isRequired: true },
    out: outOption,
    format: { value: 'FORMAT', summary: 'Format.', choices: costFormats, isRequired: true },
    location: { value: 'ID', summary: 'Only this location: an id or an own reference.' },
    device: { value: 'ID', summary: 'Only this device.' },
    customer: { value: 'ID', summary: 'Only the locations of this customer.' },
    session: { value: 'REFERENCE', summary: 'Only this session.' },
    frame: { value: 'FILE', summary: 'JSON file with party, token and location of OCPI records.' },
    ...fileTargetOptions,
  },
  run: input => exportInFormat('costs', input),
}

const exportTariffsCommand: Command = {
  name: 'export tariffs',
  operands: [],
  summary: 'Export the tariffs of a location as URDB or OCPI.',
  details: ['A tariff that the format cannot express exactly is not written. Charges are not written.', ...details],
  options: {
    location: { value: 'ID', summary: 'Location: an id or an own reference.', isRequired: true },
    out: outOption,
    format: { value: 'FORMAT', summary: 'Format.', choices: writtenTariffFormats, isRequired: true },
    ...fileTargetOptions,
  },
  run: input => exportInFormat('tariffs', input),
}

export const exportCommands: readonly Command[] = [exportCostsCommand, exportTariffsCommand]
