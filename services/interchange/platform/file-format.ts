import { Failure } from '../../platform/failure.ts'
import { csvLimits } from './csv.ts'

/** Format of a file by its first bytes. */
export type TextFormat = 'csv' | 'ndjson' | 'xml'

/** Return the format of a text by its first character that is no space: `{` begins NDJSON, `<` XML. */
export const textFormatOf = (first: Uint8Array): TextFormat => {
  const start = new TextDecoder().decode(first.subarray(0, 4096)).trimStart()
  if (start.startsWith('{')) return 'ndjson'
  return start.startsWith('<') ? 'xml' : 'csv'
}

/** Return whether a text has signed readings of a charging station: OCMF, alone or in the XML of transparency programs. */
export const isSignedText = (first: Uint8Array): boolean => {
  const start = new TextDecoder().decode(first.subarray(0, 4096)).trimStart()
  return start.startsWith('OCMF|') || (start.startsWith('<') && start.includes('<signedData'))
}

/** Line of a text, from 1. */
export type TextLine = { readonly text: string; readonly line: number }

/** Read the lines of a UTF-8 text. Blank lines are left out. Throws `Failure` for a line above 64 KiB and invalid bytes. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let line = 0
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new Failure('file_unreadable', 'The file is not text in utf-8.')
    }
  }
  for await (const chunk of chunks) {
    const lines = (rest + decode(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > csvLimits.rowBytes) {
      throw new Failure('file_unreadable', `Line ${line + lines.length + 1} is longer than 64 KiB.`)
    }
    for (const text of lines) {
      line += 1
      if (text.trim() !== '') yield { text, line }
    }
  }
  const last = rest + decode()
  if (last.trim() !== '') yield { text: last, line: line + 1 }
}
