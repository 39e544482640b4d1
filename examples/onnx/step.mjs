// A model exported by `mclstm export`, in a program without Python: one step per row of a table.
//
//     npm install onnxruntime-node
//     node step.mjs FOLDER < inputs.csv
//
// The table is of one site and has a column for every input that export.json names, in the units it names.
// What comes out is a table of the predictions and of what the stores hold.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ort from "onnxruntime-node";

const folder = process.argv[2];
const about = JSON.parse(readFileSync(join(folder, "export.json"), "utf8"));
const session = await ort.InferenceSession.create(join(folder, "step.onnx"));
const [header, ...rows] = readFileSync(0, "utf8").trim().split("\n").map((line) => line.trim().split(","));

// Numbers of any nesting as one tensor; states carry the members first, then the samples, here one.
const wide = (values, shape) => new ort.Tensor("float64", Float64Array.from(values), shape);
const state = (members) => {
  const [type, array] = about.precision === "float32" ? ["float32", Float32Array] : ["float64", Float64Array];
  const shape = [members.length];
  for (let part = members[0]; Array.isArray(part); part = part[0]) shape.push(part.length);
  shape.splice(1, 0, 1);
  return new ort.Tensor(type, array.from(members.flat(Infinity)), shape);
};

let states = Object.fromEntries(Object.entries(about.initial).map(([name, members]) => [name, state(members)]));
const targets = about.outputs.prediction.map((column) => column.name);
console.log([...targets, ...("cells" in states ? ["stored"] : [])].join(","));
for (const row of rows) {
  const inputs = {};
  for (const [role, columns] of Object.entries(about.inputs)) {
    const values = columns.map((column) => Number(row[header.indexOf(column.name)]));
    if (values.some(Number.isNaN)) throw new Error(`a number of ${role} is missing in: ${row}`);
    inputs[role] = wide(values, [1, values.length]);
  }
  const results = await session.run({ ...inputs, ...states });
  states = Object.fromEntries(Object.keys(states).map((name) => [name, results[`${name}_after`]]));
  const stored = "cells" in states ? [states.cells.data.reduce((sum, cell) => sum + cell, 0) / about.members] : [];
  console.log([...results.prediction.data, ...stored].join(","));
}
