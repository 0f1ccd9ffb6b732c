import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { statementsOf } from '../../../../services/platform/clickhouse/schemas.ts'

/** A text that may have all characters with a meaning, without its own end. */
const textWithout = (end: string) =>
  fc
    .array(fc.constantFrom(';', '; ', ';\n', "'", '"', '`', '--', '#', '/*', '*', '/', 'word', ' '))
    .map(parts => parts.join(''))
    .filter(text => !text.includes(end))

const blank = fc.oneof(
  fc.constantFrom(' ', '\n', '\n\n', '\t'),
  textWithout('\n').map(text => `--${text}\n`),
  textWithout('\n').map(text => `# ${text}\n`),
  textWithout('*/').map(text => `/*${text} */`),
)
const quoted = fc
  .constantFrom("'", '"', '`')
  .chain(quote =>
    textWithout(quote).chain(text =>
      fc
        .constantFrom(text, `${text}\\${quote}${text}`, `${text}${quote}${quote}${text}`)
        .map(inner => quote + inner + quote),
    ),
  )
const solid = fc.oneof(fc.constantFrom('SELECT 1', 'ALTER TABLE a', '(b - c) / d', '#1'), quoted)
const nothing = fc.array(blank).map(parts => parts.join(''))
const statement = fc
  .tuple(nothing, solid, fc.array(fc.tuple(fc.constant(' '), fc.oneof(solid, blank))), nothing)
  .map(([before, first, rest, after]) => [before, first, ...rest.flat(), after].join(''))

describe('statementsOf', () => {
  it('returns every statement with its comments, and no piece of comments alone', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            statement,
            nothing.map(text => ({ nothing: text })),
          ),
        ),
        pieces => {
          const texts = pieces.map(piece => (typeof piece === 'string' ? piece : piece.nothing))
          const statements = pieces.filter(piece => typeof piece === 'string').map(piece => piece.trim())
          expect(statementsOf(texts.join(';'), false)).toEqual(statements)
        },
      ),
    )
  })

  it.each([
    ['a comment line that ends in ;', '-- no index yet;\n-- until then.\nALTER TABLE a;', 1],
    ['a comment after the last statement', 'SELECT 1;\n-- the end;\n', 1],
    ['comments only', '-- one;\n/* two; */\n# three;\n', 0],
    ['an empty text', ' ;\n;', 0],
    ['; in a text', "SELECT ';\n', `;`, \";\", 'it''s;', '\\';'; SELECT 2", 2],
    ['two statements of a line', 'SELECT 1; SELECT 2', 2],
  ])('counts the statements of %s', (_, sql, count) => {
    expect(statementsOf(sql, false)).toHaveLength(count)
  })

  it('creates replicated tables on request', () => {
    const sql = 'CREATE TABLE a (b Int8)\nENGINE = ReplacingMergeTree\nORDER BY b'
    expect(statementsOf(sql, true)).toEqual([sql.replace('Replacing', 'ReplicatedReplacing')])
  })
})
