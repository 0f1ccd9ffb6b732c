import { CommandError, type CommandInput, UsageError } from '../../../command-line/command.ts'
import type { ColumnGuess } from '../../domain/csv/guess-columns.ts'
import { type ImportReport, reportLines } from './import-report.ts'

const quoted = (text: string): string => (/^[\w./:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Return the command that imports a file with guessed options. */
const commandOf = (name: string, { options }: ColumnGuess, given: CommandInput['options']): string =>
  [
    `npx wattledger import readings ${quoted(name)}`,
    ...Object.entries({ ...given, ...options }).flatMap(([option, value]) =>
      value === undefined || option === 'dry-run'
        ? []
        : [value === '' ? `--${option}` : `--${option} ${quoted(value)}`],
    ),
  ].join(' ')

/** Return the error of a file whose options cannot be guessed: what was found, and what decides the rest. */
const unclear = (name: string, guess: ColumnGuess, given: CommandInput['options']): UsageError => {
  const found = guess.options['columns'] === '' ? [] : [`Begin with: ${commandOf(name, guess, given)} --dry-run`]
  return new UsageError(
    [
      `${name}: the first rows do not say how to read it.`,
      ...guess.missing.map(({ text }) => `- ${text}`),
      ...found,
    ].join('\n  '),
  )
}

type SuggestedImport = {
  readonly name: string
  readonly guess: ColumnGuess
  readonly input: CommandInput
  /** Import the file, or check it, with some options. */
  readonly run: (options: CommandInput['options'], isDryRun: boolean) => Promise<ImportReport>
}

/**
 * Import a file with guessed options: show the preview and the command, and send the readings only if a person says yes.
 * Throws `UsageError` if something cannot be guessed or nobody can be asked, and `CommandError` if the answer is not yes.
 * Source: docs/rules/imports.md #suggestion.
 */
export const importSuggested = async ({ name, guess, input, run }: SuggestedImport): Promise<ImportReport> => {
  if (guess.missing.length > 0) throw unclear(name, guess, input.options)
  const options = { ...input.options, ...guess.options }
  const command = commandOf(name, guess, input.options)
  const preview = await run(options, true)
  const remarks = [...(preview.remarks ?? []), `The options were guessed: ${command}`, ...guess.doubts]
  if (input.options['dry-run'] !== undefined) return { ...preview, remarks }
  input.status.write(`${reportLines({ ...preview, remarks }).join('\n')}\n`)
  if (input.confirm === null)
    throw new UsageError(`${name}: the options were guessed, so nothing was sent. Run: ${command}`)
  if (!(await input.confirm('Send these readings? [y/N] '))) throw new CommandError(`${name}: nothing was sent.`)
  return run(options, false)
}
