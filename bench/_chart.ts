// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Charts as SVG, drawn by Apache ECharts, which needs no browser for that. One
 * file serves light and dark pages: its colours are the light ones, and a style
 * sheet in it exchanges them.
 */

import { peer } from "./_peers.ts";
import { type Color, paint, PAIRS } from "./_palette.ts";
import { digits } from "./_stats.ts";

const WIDTH = 860;
const ROW = 26;
const FONT = "Helvetica, Arial, sans-serif";

const textStyle = (color: Color, fontSize = 12) => ({
  color: paint(color),
  fontSize,
  fontFamily: FONT,
});

/** One scale of a picture. */
export interface Axis {
  /** What it shows, with its unit. */
  readonly title: string;
  readonly log?: boolean;
}

/** One group of bars beside the names. */
export interface BarPanel extends Axis {
  /** By row; NaN where there is nothing to show. */
  readonly values: readonly number[];
  /** By row; the value itself by default. */
  readonly labels?: readonly string[];
  /** By row; whether the value is a fault, which is red. */
  readonly alerts?: readonly boolean[];
  /** What the panel's bars are in the legend, and their colour. */
  readonly color: Color;
}

/** Panels of horizontal bars that share their rows. */
export async function barChart(
  title: string,
  rows: readonly string[],
  panels: readonly BarPanel[],
): Promise<string> {
  const left = 20 + 7 * Math.max(...rows.map((row) => row.length));
  const gap = 15 + 5.5 * longestLabel(panels);
  const width = (WIDTH - left - gap * panels.length) / panels.length;
  const place = (i: number) => ({
    left: left + i * (width + gap),
    width,
    top: 86,
    height: rows.length * ROW,
  });
  return await draw(title, 86 + rows.length * ROW + 60, {
    legend: legend(panels.map(({ title }) => title)),
    grid: panels.map((_, i) => place(i)),
    xAxis: panels.map((panel, i) => ({
      gridIndex: i,
      ...scale(panel),
      ...panel.log ? base(panel.values) : {},
    })),
    yAxis: panels.map((_, i) => rowAxis(rows, i)),
    series: panels.map((panel, i) => ({
      type: "bar",
      name: panel.title,
      xAxisIndex: i,
      yAxisIndex: i,
      barWidth: 14,
      itemStyle: { color: paint(panel.color) },
      data: panel.values.map((value, row) => bar(panel, value, row)),
    })),
  });
}

/** Characters of the longest label, which stands behind its bar. */
function longestLabel(panels: readonly BarPanel[]): number {
  const labels = panels.flatMap(({ labels }) => labels ?? []);
  return Math.max(8, ...labels.map((label) => label.length));
}

/** Where bars on a logarithmic scale begin: a power of ten below all. */
function base(values: readonly number[]): object {
  const positive = values.filter((value) => value > 0);
  const least = Math.log10(Math.min(...positive));
  const min = 10 ** (Math.ceil(least) - 1);
  return { min, startValue: min };
}

function bar(panel: BarPanel, value: number, row: number): object {
  const shown = Number.isFinite(value);
  return {
    value: shown ? value : "-",
    ...panel.alerts?.[row] ? { itemStyle: { color: paint("red") } } : {},
    label: {
      show: shown,
      position: "right",
      formatter: panel.labels?.[row] ?? digits(value),
      ...textStyle("ink", 11),
    },
  };
}

function rowAxis(rows: readonly string[], gridIndex: number): object {
  return {
    gridIndex,
    type: "category",
    data: [...rows],
    inverse: true,
    axisTick: { show: false },
    axisLine: { lineStyle: { color: paint("soft") } },
    axisLabel: { show: gridIndex === 0, ...textStyle("ink") },
  };
}

/** One line of a panel. */
export interface Line {
  readonly name: string;
  readonly color: Color;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Drawn dashed: what it shows is not the whole truth. */
  readonly dashed?: boolean;
}

/** One panel of lines. */
export interface LinePanel {
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

/** Panels of lines side by side, with one legend. */
export async function lineChart(
  title: string,
  panels: readonly LinePanel[],
): Promise<string> {
  const gap = 75;
  const width = (WIDTH - 10 - gap * panels.length) / panels.length;
  const names = [...new Set(panels.flatMap((p) => p.lines.map((l) => l.name)))];
  const top = names.length > 5 ? 125 : 100;
  return await draw(title, top + 300 + 60, {
    legend: legend(names),
    grid: panels.map((_, i) => ({
      left: gap - 10 + i * (width + gap),
      width,
      top,
      height: 290,
    })),
    xAxis: panels.map(({ x }, i) => ({ gridIndex: i, ...scale(x) })),
    yAxis: panels.map(({ y }, i) => ({ gridIndex: i, ...scale(y, true) })),
    series: panels.flatMap(({ lines }, i) =>
      lines.map((line) => ({
        type: "line",
        name: line.name,
        xAxisIndex: i,
        yAxisIndex: i,
        symbol: line.dashed ? "emptyCircle" : "circle",
        symbolSize: 7,
        lineStyle: {
          color: paint(line.color),
          width: 2,
          type: line.dashed ? "dashed" : "solid",
        },
        itemStyle: { color: paint(line.color) },
        data: line.points.map((point) => [...point]),
      }))
    ),
  });
}

/** A table of words in green or red cells. */
export interface Grid {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** By row, then by column. */
  readonly cells: readonly (readonly { text: string; good: boolean }[])[];
  /** What green and red mean. */
  readonly good: string;
  readonly bad: string;
}

/** A table that is seen at once. */
export async function gridChart(title: string, grid: Grid): Promise<string> {
  const { rows, columns, cells } = grid;
  const left = 20 + 7 * Math.max(...rows.map((row) => row.length));
  const height = rows.length * (ROW + 4);
  const series = (name: string, good: boolean) => ({
    type: "heatmap",
    name,
    itemStyle: {
      color: paint(good ? "fine" : "bad"),
      borderColor: paint("paper"),
      borderWidth: 2,
    },
    data: cells.flatMap((row, y) =>
      row.flatMap((cell, x) =>
        cell.good === good
          ? [{ value: [x, y, 1], label: cellLabel(cell.text) }]
          : []
      )
    ),
  });
  return await draw(title, 110 + height + 16, {
    legend: legend([grid.good, grid.bad]),
    grid: [{ left, right: 16, top: 110, height }],
    xAxis: [{
      type: "category",
      position: "top",
      data: [...columns],
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { interval: 0, ...textStyle("ink", 11) },
    }],
    yAxis: [{ ...rowAxis(rows, 0), axisLine: { show: false } }],
    series: [series(grid.good, true), series(grid.bad, false)],
    // A heat map needs one; the colours are those of the series.
    visualMap: { show: false, min: 0, max: 1, inRange: {} },
  });
}

function cellLabel(text: string): object {
  return { show: true, formatter: text, ...textStyle("ink", 11) };
}

function legend(names: readonly string[]): object {
  return {
    top: 40,
    left: 16,
    itemWidth: 18,
    itemGap: 24,
    data: [...names],
    textStyle: textStyle("ink"),
  };
}

/** A scale of numbers; the title stands above a vertical one. */
function scale({ title, log }: Axis, vertical = false): object {
  return {
    type: log ? "log" : "value",
    name: title,
    nameLocation: vertical ? "end" : "middle",
    nameGap: vertical ? 12 : 30,
    nameTextStyle: {
      ...textStyle("soft"),
      ...vertical ? { align: "left" } : {},
    },
    splitNumber: 4,
    axisLabel: {
      hideOverlap: true,
      formatter: (value: number) => shorten(value),
      ...textStyle("soft", 11),
    },
    axisLine: { show: true, lineStyle: { color: paint("soft") } },
    splitLine: { lineStyle: { color: paint("line") } },
  };
}

function shorten(value: number): string {
  return value >= 1000 ? `${value / 1000}k` : `${Number(value.toPrecision(3))}`;
}

async function draw(
  text: string,
  height: number,
  options: object,
): Promise<string> {
  const echarts = await import(peer("echarts"));
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width: WIDTH,
    height,
  });
  chart.setOption({
    animation: false,
    silent: true,
    backgroundColor: paint("paper"),
    title: { text, left: 16, top: 10, textStyle: textStyle("ink", 15) },
    ...options,
  });
  const svg: string = chart.renderToSVGString();
  chart.dispose();
  return addDark(svg.replaceAll(/ class="zr\d+-cls-\d+"/g, ""), text);
}

/** Gives the picture its name and the colours for dark pages. */
function addDark(svg: string, title: string): string {
  const rules = Object.values(PAIRS).map(([light, dark]) =>
    `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`
  );
  const style = `<title>${title}</title>\n<style>` +
    `@media (prefers-color-scheme:dark){${rules.join("")}}</style>\n`;
  const plain = svg.replace(/<style\s*>[\s\S]*?<\/style>\n?/g, "")
    .replaceAll('"#fff"', '"#ffffff"');
  return plain.replace(/(<svg[^>]*>\n?)/, (tag) => tag + style) + "\n";
}
