"""Measure whether rules help: count sessions before and after each approval, and judge the difference."""
