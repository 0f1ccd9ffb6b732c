import { type Document, dryRunName, eventSchemas, type Operation, operationsOf } from './document.ts'
import { integerNames, withDecimals } from './numbers.ts'

const camelCase = (text: string): string => text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const typeName = (id: string): string => camelCase(`_${id}`)

/** Return the document with a component `Decimal` in place of each decimal. */
export const typescriptDocument = (document: Document): Document => {
  const reference = { $ref: '#/components/schemas/Decimal' }
  const written = withDecimals(document, isNullable =>
    isNullable ? { anyOf: [reference, { type: 'null' }] } : reference,
  )
  const { components } = written
  return { ...written, components: { ...components, schemas: { ...components.schemas, Decimal: { type: 'object' } } } }
}

/** Replace the declaration of `Decimal` in generated types by the type of the runtime. */
export const importDecimal = (types: string): string => {
  const declaration = /^export type Decimal = \{\n[^}]*\};\n/m
  if (!declaration.test(types)) throw new Error('The generated types do not declare Decimal.')
  return `import type { Decimal } from '../../decimal.js';\n${types.replace(declaration, '')}`
}

const methodType = ({ id, isList, hasDryRun }: Operation): string => {
  const [data, answer] = [`T.${typeName(id)}Data`, `T.${typeName(id)}Response`]
  if (hasDryRun) return `RehearsedOperation<${data}, ${answer}, T.${dryRunName}>`
  return `${isList ? 'ListOperation' : 'SingleOperation'}<${data}, ${answer}>`
}

const docstring = ({ summary, method, path }: Operation): string => `  /** ${summary}: \`${method} ${path}\`. */`

const row = ({ id, method, path, access, isList, takesKey }: Operation): string =>
  `  ${camelCase(id)}: ${JSON.stringify({ method, path, access, isList, takesKey })},`

/** Write the table of the operations and the types of its methods. */
export const typescriptOperations = (document: Document): string => {
  const operations = operationsOf(document)
  const events = eventSchemas(document).map(name => `  | T.${name}`)
  return [
    '// Generated from the OpenAPI document. Do not edit.',
    "import type { ListOperation, RehearsedOperation, SingleOperation } from '../../operation.js'",
    "import type * as T from './types.gen.js'",
    '',
    `export const apiVersion = '${document.info.version}'`,
    '',
    '/** Names of the members that are integers. All other numbers are decimals. */',
    `export const integers: ReadonlySet<string> = new Set(${JSON.stringify(integerNames(document))})`,
    '',
    'export const operations = {',
    ...operations.map(row),
    '} as const',
    '',
    '/** Methods of the client: one for each operation with an answer in JSON. */',
    'export type Operations = {',
    ...operations
      .filter(({ hasJson }) => hasJson)
      .flatMap(one => [docstring(one), `  readonly ${camelCase(one.id)}: ${methodType(one)}`]),
    '}',
    '',
    '/** Inputs of all operations, for downloads of other media types. */',
    'export type Inputs = {',
    ...operations.map(({ id }) => `  readonly ${camelCase(id)}: T.${typeName(id)}Data`),
    '}',
    '',
    '/** Body of a webhook delivery. */',
    'export type WebhookEvent =',
    ...events,
    '',
  ].join('\n')
}
