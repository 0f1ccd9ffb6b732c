import {
  componentName,
  type Document,
  dryRunName,
  eventSchemas,
  isObject,
  type Json,
  type Operation,
  operationsOf,
} from './document.ts'
import { integerNames, withDecimals } from './numbers.ts'

/** Remove the formats of texts, because texts stay unchanged, and the refusal of unknown members. */
const withoutFormats = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutFormats)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([name, one]) =>
    name === 'format' ? one === 'decimal' : name !== 'additionalProperties' || one !== false,
  )
  return Object.fromEntries(members.map(([name, one]) => [name, withoutFormats(one)]))
}

/** Return the document with the format `decimal` at each decimal, and without other formats. */
export const pythonDocument = (document: Document): unknown => {
  const decimal = { type: 'number', format: 'decimal' }
  const write = (isNullable: boolean): Json => (isNullable ? { anyOf: [decimal, { type: 'null' }] } : decimal)
  return withoutFormats(withDecimals(document, write))
}

const literal = (values: readonly unknown[]): string => `Literal[${values.map(one => JSON.stringify(one)).join(', ')}]`

const scalarTypes: Readonly<Record<string, string>> = {
  integer: 'int',
  boolean: 'bool',
  number: 'Decimal',
  string: 'str',
}

const typeOfSchema = (schema: unknown): string => {
  if (!isObject(schema)) return 'Any'
  const name = componentName(schema)
  if (name !== null) return `types.${name}`
  if (Array.isArray(schema['enum'])) return literal(schema['enum'])
  if (schema['type'] === 'array') return `Sequence[${typeOfSchema(schema['items'])}]`
  if (Array.isArray(schema['anyOf'])) return [...new Set(schema['anyOf'].map(typeOfSchema))].join(' | ')
  return scalarTypes[String(schema['type'])] ?? 'Any'
}

const parameterType = ({ raw }: Operation, name: string): string => {
  const found = raw.parameters.find(one => one.name === name) as { readonly schema?: unknown } | undefined
  return typeOfSchema(found?.schema)
}

const bodyType = ({ raw }: Operation): string => typeOfSchema(raw.requestBody?.content['application/json']?.schema)

const answerSchemas = ({ raw }: Operation): readonly unknown[] =>
  Object.entries(raw.responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content = {} }]) => content['application/json']?.schema)

const answerType = (operation: Operation): string =>
  [...new Set(answerSchemas(operation).map(typeOfSchema))].filter(type => type !== 'Any').join(' | ') || 'Any'

/** Return the type of the objects of a list: the items of `data`. */
const itemType = (operation: Operation, { components }: Document): string => {
  const list = components.schemas[componentName(answerSchemas(operation)[0]) ?? '']
  const properties = isObject(list) && isObject(list['properties']) ? list['properties'] : {}
  return isObject(properties['data']) ? typeOfSchema(properties['data']['items']) : 'Any'
}

const isBodyRequired = ({ raw }: Operation): boolean => Object(raw.requestBody)['required'] === true

/** Parameters of a method. `dryRun` is the type of `dry_run`, with its default, if it differs from that of the document. */
const parametersOf = (operation: Operation, dryRun?: string): readonly string[] => {
  const { pathNames, queryNames, hasBody, takesKey } = operation
  const body = `body: ${bodyType(operation)}`
  const query = queryNames.map(name =>
    name === 'dry_run' && dryRun !== undefined
      ? `dry_run: ${dryRun}`
      : `${name}: ${parameterType(operation, name)} | None = None`,
  )
  const named = [...query, ...(takesKey ? ['idempotency_key: str | None = None'] : [])]
  return [
    ...pathNames.map(name => `${name}: ${parameterType(operation, name)}`),
    ...(hasBody ? [isBodyRequired(operation) ? body : `${body} | None = None`] : []),
    ...(named.length === 0 ? [] : ['*', ...named]),
  ]
}

const dictionary = (names: readonly string[]): string => `{${names.map(name => `"${name}": ${name}`).join(', ')}}`

const signature = (operation: Operation, isAsync: boolean, answer: string, dryRun?: string): string =>
  [
    `    ${isAsync && !operation.isList ? 'async ' : ''}def ${operation.id}(`,
    ...['self', ...parametersOf(operation, dryRun)].map(one => `        ${one},`),
    `    ) -> ${answer}:`,
  ].join('\n')

const bodyHasDryRun = ({ raw }: Operation, { components }: Document): boolean => {
  const schema = raw.requestBody?.content['application/json']?.schema
  const described = components.schemas[componentName(schema) ?? ''] ?? schema
  return isObject(described?.['properties']) && 'dry_run' in described['properties']
}

/** Signatures by `dry_run`: the answer of a dry run, of a change, and one of both. A body can have `dry_run` too. */
const overloads = (operation: Operation, document: Document, isAsync: boolean): readonly string[] => {
  if (!operation.hasDryRun) return []
  const either = answerType(operation)
  const made = bodyHasDryRun(operation, document)
    ? either
    : either
        .split(' | ')
        .filter(type => type !== `types.${dryRunName}`)
        .join(' | ')
  const signatures = [
    [`types.${dryRunName}`, 'Literal[True]'],
    [made, 'Literal[False] | None = None'],
    [either, 'bool | None = None'],
  ] as const
  return signatures.map(([answer, dryRun]) => `    @overload\n${signature(operation, isAsync, answer, dryRun)} ...\n`)
}

const methodOf = (operation: Operation, document: Document, isAsync: boolean): string => {
  const { id, summary, method, path, isList, pathNames, queryNames, hasBody, takesKey } = operation
  const answer = isList
    ? `${isAsync ? 'AsyncPages' : 'Pages'}[${itemType(operation, document)}]`
    : answerType(operation)
  const call = [
    `"${id}"`,
    ...(pathNames.length > 0 ? [`path=${dictionary(pathNames)}`] : []),
    ...(queryNames.length > 0 ? [`query=${dictionary(queryNames)}`] : []),
    ...(hasBody ? ['body=body'] : []),
    ...(takesKey ? ['idempotency_key=idempotency_key'] : []),
  ]
  const performed = isList ? 'self._list' : isAsync ? 'await self._call' : 'self._call'
  return [
    ...overloads(operation, document, isAsync),
    signature(operation, isAsync, answer),
    `        """${summary}: \`${method} ${path}\`."""`,
    `        return ${performed}(${call.join(', ')})`,
  ].join('\n')
}

const python = (isTrue: boolean): string => (isTrue ? 'True' : 'False')

const row = ({ id, method, path, access, isList, takesKey }: Operation): string =>
  `    "${id}": Operation("${method}", "${path}", "${access}", ${python(isList)}, ${python(takesKey)}),`

const classOf = (name: string, base: string, document: Document, isAsync: boolean): string => {
  const operations = operationsOf(document).filter(({ hasJson }) => hasJson)
  return [
    `class ${name}(${base}):`,
    '    """One method for each operation with an answer in JSON."""\n',
    operations.map(one => methodOf(one, document, isAsync)).join('\n\n'),
  ].join('\n')
}

/** Write the table of the operations, and their methods for programs with and without `async`. */
export const pythonOperations = (document: Document): string => `# Generated from the OpenAPI document. Do not edit.
# ruff: noqa
from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, Union, overload

from ..._operation import Api, AsyncCaller, Caller, Operation
from ..._pages import AsyncPages, Pages
from . import types

WebhookEvent = Union[
${eventSchemas(document)
  .map(name => `    types.${name},`)
  .join('\n')}
]

API = Api(
    version="${document.info.version}",
    integers=frozenset(${JSON.stringify(integerNames(document))}),
    operations={
${operationsOf(document)
  .map(one => `    ${row(one)}`)
  .join('\n')}
    },
)


${classOf('Operations', 'Caller', document, false)}


${classOf('AsyncOperations', 'AsyncCaller', document, true)}
`
