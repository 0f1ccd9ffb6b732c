import {
  type DeadLetterDetail,
  type DeadLetterReplay,
  type DeadLetterSummary,
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
import type { ServiceClient } from '../service-client.ts'
import { columns, table } from '../table.ts'

type DeadLetterPage = {
  readonly has_more: boolean
  readonly next: string | null
  readonly data: readonly DeadLetterSummary[]
}

const path = '/operator/dead-letters'
const maxPageSize = 100
const maxHexBytes = 512

const filterOptions: Readonly<Record<string, CommandOption>> = {
  code: { value: 'CODE', summary: 'Only letters of this reason, such as location_unknown.' },
  since: { value: 'TIME', summary: 'Only letters since then: 2026-01-31T12:00:00Z, or 30m, 24h, 7d ago.' },
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const readSince = (text: string, at: number): string => {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return writeInstant(at - Number(count) * (unitMs[unit] ?? 0))
  const read = readInstant(text, '--since')
  if (!read.ok)
    throw new UsageError(`--since is a time such as 2026-01-31T12:00:00Z, or 24h for a day ago, not "${text}"`)
  return writeInstant(read.value.at)
}

const readLimit = (text: string | undefined): number => {
  if (text === undefined) return 30
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--limit is a whole number from 1 to 999999')
  return Number(text)
}

/** Read letters page by page, newest first, until there are enough. Letters that come meanwhile are left out. */
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
    const query = new URLSearchParams({ ...filter, limit, ...(next === null ? {} : { before: next }) })
    const page: DeadLetterPage = await client.ask<DeadLetterPage>('GET', `${path}?${query}`)
    letters.push(...page.data)
    next = page.next
  } while (next !== null && letters.length < maxLetters)
  return { letters, hasMore: next !== null }
}

const kindText = ({ position }: DeadLetterSummary): string => (position === null ? 'message' : `record ${position}`)

const offsetText = ({ lane, offset }: DeadLetterSummary): string => (lane === null ? '' : `${lane}/${offset}`)

const maxReasonLength = 120

/** A reason may be the words of an error, over several lines. */
const inOneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line
}

const listCommand: Command = {
  name: 'dead-letters list',
  operands: [],
  summary: 'List what the worker has put aside, newest first.',
  details:
    'Asks the running service. What could not be read or costed is kept for 30 days, with its bytes and the reason.',
  options: {
    ...filterOptions,
    limit: { value: 'N', summary: 'How many to show; 30 when absent.' },
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
    const listText = table(['id', 'lane', 'what', 'put aside', 'code', 'reason'], rows, 'Nothing was put aside.')
    return success(hasMore ? `${listText}\n\nThere are more: --limit shows more of them.` : listText, {
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
  if (bytes.length > maxHexBytes) lines.push(`  … ${bytes.length - maxHexBytes} more; --json gives all, in base64`)
  return lines.join('\n')
}

const showCommand: Command = {
  name: 'dead-letters show',
  operands: ['ID'],
  summary: 'Show everything that is known of one.',
  details: 'Origin, reason, headers, its bytes in hex, and what they say where they can be read.',
  options: operatorOptions,
  run: async input => {
    const letter = await operatorClient(input).ask<DeadLetterDetail>(
      'GET',
      `${path}/${encodeURIComponent(input.operands[0] ?? '')}`,
    )
    const rows = [
      ['id', letter.id],
      ['from', `${letter.topic} ${offsetText(letter)}, ${kindText(letter)}`],
      ['appended', letter.time_appended ?? ''],
      ['put aside', letter.time_failed],
      ['code', letter.code],
      ['reason', letter.reason],
      ['key', letter.key],
      ...Object.entries(letter.headers).map(([name, value]) => [`header ${name}`, value]),
      ['bytes', String(letter.size)],
    ]
    const content =
      letter.content_error === null
        ? JSON.stringify(letter.content, null, 2)
        : `cannot be read: ${letter.content_error}`
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
    const { data } = await client.ask<{ readonly data: readonly DeadLetterReplay[] }>('POST', `${path}/replay`, {
      ids: ids.slice(from, from + maxReplays),
    })
    results.push(...data)
    for (const { id, replayed, reason } of data) if (!replayed) onProgress(`  ${id}  not replayed: ${reason}`)
    if (ids.length > maxReplays) onProgress(`  ${results.length} of ${ids.length}`)
  }
  const count = results.filter(({ replayed }) => replayed).length
  const text = ids.length === 0 ? 'There is nothing to replay.' : `${count} of ${ids.length} put back into their lanes.`
  return { text, json: { replayed: count, data: results }, ok: count === ids.length }
}

const replayCommand: Command = {
  name: 'dead-letters replay',
  operands: ['ID…'],
  summary: 'Put what was put aside back into its lane.',
  details:
    'Names ids, or all (--all, with --code and --since). The worker then stores what it can read and cost by now; what was sent again since\nholds all the same, and what fails again is put aside again. Replaying twice changes nothing. Receipts go on naming the failure.',
  options: {
    all: { summary: 'All that --code and --since leave, oldest first.' },
    ...filterOptions,
    ...operatorOptions,
  },
  run: async input => {
    const isAll = input.options['all'] !== undefined
    if (isAll === input.operands.length > 0) throw new UsageError('name the ids to replay, or --all')
    if (!isAll && (input.options['code'] ?? input.options['since']) !== undefined)
      throw new UsageError('--code and --since go with --all')
    const client = operatorClient(input)
    if (!isAll) return replayAll(client, [...new Set(input.operands)], input)
    const { letters } = await fetchLetters(client, input, Number.MAX_SAFE_INTEGER)
    return replayAll(client, letters.map(({ id }) => id).reverse(), input)
  },
}

export const deadLetterCommands: readonly Command[] = [listCommand, showCommand, replayCommand]
