import {
  type DeadLetterReplay,
  type DeadLetterSummary,
  deadLetterList,
  deadLetterReplay,
  deadLetterRetrieve,
  maxReplays,
} from '../../contract/operator/dead-letter.ts'
import { readInstant, writeInstant } from '../../domain/instant.ts'
import {
  type Command,
  type CommandInput,
  type CommandOption,
  type CommandOutcome,
  success,
  UsageError,
} from '../command.ts'
import { operatorClient, operatorOptions } from '../operator-client.ts'
import type { Received, ServiceClient } from '../service-client.ts'
import { columns, table } from '../table.ts'

const maxPageSize = 100
const maxHexBytes = 512

const filterOptions: Readonly<Record<string, CommandOption>> = {
  code: { value: 'CODE', summary: 'Only dead letters with this code, such as location_unknown.' },
  since: { value: 'TIME', summary: 'Only dead letters since this time (2026-01-31T12:00:00Z) or age (30m, 24h, 7d).' },
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const readSince = (text: string, at: number): string => {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return writeInstant(at - Number(count) * (unitMs[unit] ?? 0))
  const read = readInstant(text, '--since')
  if (!read.ok)
    throw new UsageError(`--since must be a time such as 2026-01-31T12:00:00Z, or an age such as 24h, not "${text}".`)
  return writeInstant(read.value.at)
}

const readLimit = (text: string | undefined): number => {
  if (text === undefined) return 30
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--limit must be a whole number from 1 to 999999.')
  return Number(text)
}

/** Read up to `maxLetters` dead letters, newest first. Dead letters that arrive meanwhile are not included. */
const fetchLetters = async (
  client: ServiceClient,
  { options, at }: CommandInput,
  maxLetters: number,
): Promise<{ letters: DeadLetterSummary[]; hasMore: boolean }> => {
  const letters: DeadLetterSummary[] = []
  const filter = {
    ...(options['code'] === undefined ? {} : { code: options['code'] }),
    ...(options['since'] === undefined ? {} : { since: readSince(options['since'], at) }),
  }
  let next: string | null = null
  do {
    const limit = String(Math.min(maxPageSize, maxLetters - letters.length))
    const page: Received<typeof deadLetterList> = await client.ask(deadLetterList, {
      ...filter,
      limit,
      before: next ?? undefined,
    })
    letters.push(...page.data)
    next = page.next
  } while (next !== null && letters.length < maxLetters)
  return { letters, hasMore: next !== null }
}

const kindText = ({ position }: DeadLetterSummary): string => (position === null ? 'message' : `record ${position}`)

const offsetText = ({ lane, offset }: DeadLetterSummary): string => (lane === null ? '' : `${lane}/${offset}`)

const maxReasonLength = 120

/** Return the reason in one line: error messages can have several lines. */
const inOneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line
}

const listCommand: Command = {
  name: 'dead-letters list',
  operands: [],
  summary: 'List dead letters, newest first.',
  details: [
    'Requires a running service. Dead letters are messages and records that the worker could not read or cost.',
    'They are retained for 30 days with their bytes and the reason.',
  ],
  options: {
    ...filterOptions,
    limit: { value: 'N', summary: 'Number of dead letters. Default: 30.' },
    ...operatorOptions,
  },
  run: async input => {
    const limit = readLimit(input.options['limit'])
    const { letters, hasMore } = await fetchLetters(operatorClient(input), input, limit)
    const rows = letters.map(letter => [
      letter.id,
      offsetText(letter),
      kindText(letter),
      letter.time_failed,
      letter.code,
      inOneLine(letter.reason),
    ])
    const listText = table(['id', 'partition', 'content', 'failed', 'code', 'reason'], rows, 'No dead letters.')
    return success(hasMore ? `${listText}\n\nMore dead letters exist. Increase --limit to show them.` : listText, {
      has_more: hasMore,
      data: letters,
    })
  },
}

const hexLines = (base64: string): string => {
  const bytes = Buffer.from(base64, 'base64')
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, maxHexBytes); at += 32)
    lines.push(`  ${bytes.subarray(at, at + 32).toString('hex')}`)
  if (bytes.length > maxHexBytes)
    lines.push(`  … ${bytes.length - maxHexBytes} more bytes. --json shows all in base64.`)
  return lines.join('\n')
}

const showCommand: Command = {
  name: 'dead-letters show',
  operands: ['ID'],
  summary: 'Show a dead letter.',
  details: ['Shows origin, reason, headers, bytes in hexadecimal, and the content if it is readable.'],
  options: operatorOptions,
  run: async input => {
    const letter = await operatorClient(input).ask(deadLetterRetrieve, { id: input.operands[0] ?? '' })
    const rows = [
      ['id', letter.id],
      ['from', `${letter.topic} ${offsetText(letter)}, ${kindText(letter)}`],
      ['appended', letter.time_appended ?? ''],
      ['failed', letter.time_failed],
      ['code', letter.code],
      ['reason', letter.reason],
      ['key', letter.key],
      ...Object.entries(letter.headers).map(([name, value]) => [`header ${name}`, value]),
      ['bytes', String(letter.size)],
    ]
    const content =
      letter.content_error === null
        ? JSON.stringify(letter.content, null, 2)
        : `Cannot read the content: ${letter.content_error}`
    return success(
      [columns(rows), hexLines(letter.value_base64), content].filter(part => part !== '').join('\n\n'),
      letter,
    )
  },
}

const replayAll = async (
  client: ServiceClient,
  ids: readonly string[],
  { onProgress }: CommandInput,
): Promise<CommandOutcome> => {
  const results: DeadLetterReplay[] = []
  for (let from = 0; from < ids.length; from += maxReplays) {
    const { data } = await client.ask(deadLetterReplay, {}, { ids: ids.slice(from, from + maxReplays) })
    results.push(...data)
    for (const { id, replayed, reason } of data) if (!replayed) onProgress(`  ${id}  not replayed: ${reason}`)
    if (ids.length > maxReplays) onProgress(`  ${results.length} of ${ids.length}`)
  }
  const count = results.filter(({ replayed }) => replayed).length
  const text = ids.length === 0 ? 'No dead letters to replay.' : `Replayed ${count} of ${ids.length} dead letters.`
  return { text, json: { replayed: count, data: results }, ok: count === ids.length }
}

const replayCommand: Command = {
  name: 'dead-letters replay',
  operands: ['ID…'],
  summary: 'Replay dead letters.',
  details: [
    'Appends the dead letters with these ids to their partitions again, or with --all every dead letter.',
    'The worker stores the records that it can now cost. Records that were sent again since then are not replaced.',
    'A second replay changes nothing. Receipts continue to list the failure.',
  ],
  options: {
    all: { summary: 'Replay all dead letters that match --code and --since, oldest first.' },
    ...filterOptions,
    ...operatorOptions,
  },
  run: async input => {
    const isAll = input.options['all'] !== undefined
    if (isAll === input.operands.length > 0) throw new UsageError('Either ids or --all are required.')
    if (!isAll && (input.options['code'] ?? input.options['since']) !== undefined)
      throw new UsageError('--code and --since require --all.')
    const client = operatorClient(input)
    if (!isAll) return replayAll(client, [...new Set(input.operands)], input)
    const { letters } = await fetchLetters(client, input, Number.MAX_SAFE_INTEGER)
    return replayAll(client, letters.map(({ id }) => id).reverse(), input)
  },
}

export const deadLetterCommands: readonly Command[] = [listCommand, showCommand, replayCommand]
