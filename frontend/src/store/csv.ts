/** Rows as text for other programs: CSV (RFC 4180) as `kvarium sql --csv` writes it. */

export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

/** A value as one cell: nothing for NULL, lists and structs as JSON. */
export function plain(value: Value): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function csvOf(columns: readonly string[], rows: readonly (readonly Value[])[]): string {
  const cell = (said: string): string => (/[",\r\n]/.test(said) ? `"${said.replaceAll('"', '""')}"` : said);
  const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\n`;
  return line(columns) + rows.map((row) => line(row.map(plain))).join('');
}
